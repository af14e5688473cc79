"""Topologies of ros2-performance become workloads: rates, sizes, receivers and what is left out."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.scenario import Scenario, files
from hopmeter.scenario.topology_import import format_scenario, read_topology, type_bytes
from tests.coded import refuses

NODES: list[dict[str, Any]] = [
    {
        "node_name": "Head",
        "executor_id": 3,
        "publishers": [
            {"topic_name": "image/raw", "msg_type": "stamped250kb", "freq_hz": 30, "qos_depth": 1},
            {"topic_name": "pose", "msg_type": "stamped9_float32", "period_ms": 10},
            {"topic_name": "alone", "msg_type": "stamped10b", "period_ms": 10},
        ],
        "subscribers": [{"topic_name": "pose", "msg_type": "stamped9_float32"}],
        "clients": [{"service_name": "ask", "srv_type": "other_plugin::stamped10b", "period_ms": 250}],
    },
    {
        "node_name": "arm",
        "number": 2,
        "subscribers": [{"topic_name": "pose", "msg_type": "stamped9_float32"}],
        "publishers": [{"topic_name": "state", "msg_type": "stamped_vector", "msg_size": 77, "period_ms": 2}],
    },
    {
        "node_name": "base",
        "subscribers": [{"topic_name": name, "msg_type": "x"} for name in ("image/raw", "state", "nowhere")],
        "servers": [{"service_name": "ask", "srv_type": "stamped10b"}],
    },
    {"node_name": "idle"},
]
FLOWS = {
    "image-raw": {"from": "head", "to": "base", "payload": "bytes:256000", "rate": 30, "deadline": "33.3333ms"},
    "pose": {"from": "head", "to": ["arm_1", "arm_2"], "payload": "bytes:36", "rate": 100, "deadline": "10ms"},
    "ask": {"from": "head", "call": "base", "payload": "bytes:10", "rate": 4, "deadline": "50ms"},
    "state": {"from": "arm_1", "to": "base", "payload": "bytes:77", "rate": 500, "deadline": "2ms"},
    "state-arm_2": {"from": "arm_2", "to": "base", "payload": "bytes:77", "rate": 500, "deadline": "2ms"},
}


def write(folder: Path, found: Any) -> Path:
    path = folder / "robot_arm.json"
    path.write_text(found if isinstance(found, str) else json.dumps(found))
    return path


def scenario_text(folder: Path, nodes: list[dict[str, Any]]) -> str:
    path = write(folder, {"nodes": nodes})
    return format_scenario(read_topology(path), "Robot arm", path.name)


def test_a_topology_becomes_a_scenario(tmp_path: Path) -> None:
    text = scenario_text(tmp_path, NODES)
    table = tomllib.loads(text)
    assert table["flow"] == FLOWS
    assert list(table["participant"]) == ["head", "base", "arm_1", "arm_2"]
    (tmp_path / "arm.toml").write_text(text)
    scenario, _ = files.load(tmp_path / "arm.toml")
    assert isinstance(scenario, Scenario) and scenario.budget == "3m"


@pytest.mark.parametrize(
    "said",
    [
        "head receives its own pose",
        "no other node receives alone of head",
        "idle neither sends to nor receives",
        "the keys executor_id of nodes",
        "robot_arm.json",
    ],
)
def test_the_scenario_says_what_is_left_out_and_where_it_comes_from(tmp_path: Path, said: str) -> None:
    assert said in scenario_text(tmp_path, NODES)


@pytest.mark.parametrize(
    ("kind", "given", "size"),
    [
        ("stamped100b", None, 100),
        ("stamped1kb", None, 1024),
        ("stamped4mb", None, 4 << 20),
        ("stamped12_float32", None, 48),
        ("stamped4_int32", None, 16),
        ("stamped_int64", None, 8),
        ("irobot_interfaces_plugin::stamped3_float32", None, 12),
        ("stamped_vector", 5000, 5000),
        ("my_plugin::odometry", 12, 12),
    ],
)
def test_a_type_has_a_size(kind: str, given: int | None, size: int) -> None:
    assert type_bytes(kind, given) == size


PUBLISHER = {"topic_name": "t", "msg_type": "stamped10b", "period_ms": 10}
LISTENER = {"node_name": "b", "subscribers": [{"topic_name": "t", "msg_type": "stamped10b"}]}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ("{", "JSON"),
        ("[" * 100_000, "JSON"),
        ([], "robot_arm.json"),
        ({"node": []}, "'nodes'"),
        ({"nodes": []}, "empty"),
        ({"nodes": [{"publishers": []}]}, "'node_name'"),
        ({"nodes": [{"node_name": "a"}]}, "sender receiver"),
        ({"nodes": [{"node_name": "a", "publishers": [{"topic_name": "t", "period_ms": 1}]}, LISTENER]}, "'msg_type'"),
        ({"nodes": [{"node_name": "a", "publishers": [PUBLISHER | {"period_ms": 0}]}, LISTENER]}, "period_ms"),
        ({"nodes": [{"node_name": "a", "publishers": [{**PUBLISHER, "msg_type": "vector"}]}, LISTENER]}, "msg_size"),
        ({"nodes": [{"node_name": "7", "publishers": [PUBLISHER]}, LISTENER]}, '"7"'),
        ({"nodes": [{"node_name": 7, "publishers": [PUBLISHER]}, LISTENER]}, "robot_arm.json"),
        ({"nodes": 7}, "robot_arm.json"),
        ({"nodes": [{"node_name": "a", "number": 10**9}]}, "1000"),
    ],
)
def test_what_is_no_topology_says_why(tmp_path: Path, found: Any, says: str) -> None:
    with refuses(UsageError, f"E-TOPOLOGY {says}"):
        read_topology(write(tmp_path, found))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with refuses(UsageError, "E-FILE-UNREADABLE missing.json"):
        read_topology(tmp_path / "missing.json")


@pytest.mark.parametrize(("name", "participants", "flows"), [("sierra-nevada", 10, 13), ("mont-blanc", 20, 23)])
def test_the_shipped_topologies_are_as_they_were_imported(
    tmp_path: Path, name: str, participants: int, flows: int
) -> None:
    """The topology that the shipped scenario describes gives this scenario again."""
    text = files.every()[name].read_text()
    table = tomllib.loads(text)
    assert (len(table["participant"]), len(table["flow"])) == (participants, flows)
    path = tmp_path / f"{name.replace('-', '_')}.json"
    path.write_text(json.dumps({"nodes": _nodes(table)}))
    schema, _, rest = text.partition("\n")
    assert schema == "#:schema scenario.schema.json"
    assert format_scenario(read_topology(path), table["title"], path.name) == rest


def _nodes(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes that have the flows of a scenario."""
    senders = dict.fromkeys(flow["from"] for flow in table["flow"].values())
    nodes: dict[str, Any] = {name: {"publishers": [], "subscribers": []} for name in [*senders, *table["participant"]]}
    for name, flow in table["flow"].items():
        size = int(flow["payload"].partition(":")[2])
        sent = {"topic_name": name, "msg_type": "stamped_vector", "msg_size": size, "period_ms": 1000 / flow["rate"]}
        nodes[flow["from"]]["publishers"].append(sent)
        for target in [flow["to"]] if isinstance(flow["to"], str) else flow["to"]:
            nodes[target]["subscribers"].append({"topic_name": name, "msg_type": "stamped_vector"})
    return [{"node_name": name, **node} for name, node in nodes.items()]
