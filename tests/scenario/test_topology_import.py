"""Topologies of ros2-performance become workloads with rates, sizes, receivers, and a list of omitted parts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.scenario import Scenario, files
from hopmeter.scenario.topology.converter import read_topology, type_bytes
from hopmeter.scenario.topology.text import format_scenario
from tests.coded import refuses

NODES: list[dict[str, Any]] = [
    {
        "node_name": "Head",
        "executor_id": 3,
        "color": "red",
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
    "image-raw": {"from": "head", "to": "base", "payload": "bytes:256000", "rate": 30, "deadline": "33.3333333ms"},
    "pose": {
        "from": "head",
        "to": ["head-own", "arm_1", "arm_2"],
        "payload": "bytes:36",
        "rate": 100,
        "deadline": "10ms",
    },
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
    return format_scenario(read_topology([path]), "Robot arm", path.name)


def test_a_topology_becomes_a_scenario(tmp_path: Path) -> None:
    text = scenario_text(tmp_path, NODES)
    table = tomllib.loads(text)
    assert table["flow"] == FLOWS
    assert list(table["participant"]) == ["head", "base", "head-own", "arm_1", "arm_2"]
    (tmp_path / "arm.toml").write_text(text)
    scenario, _ = files.load(tmp_path / "arm.toml")
    assert isinstance(scenario, Scenario) and scenario.budget == "3m"


@pytest.mark.parametrize(
    "said",
    [
        "head sends pose to itself: the participant head-own receives it",
        "alone of head, which no node receives",
        "nowhere at base, which no node publishes",
        "idle, which exchanges no message",
        "the key `color`, 1 times",
        "qos_depth, because all flows of a cell share it: 1 for image-raw; 10 for pose, state",
        "robot_arm.json",
    ],
)
def test_the_scenario_says_what_is_left_out_and_where_it_comes_from(tmp_path: Path, said: str) -> None:
    assert said in " ".join(scenario_text(tmp_path, NODES).replace("\n#   ", " ").split())


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
        ("10b", None, 10),
        ("9float32", None, 36),
        ("int64", None, 8),
        ("stamped2_float64", None, 16),
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
        ({"node": []}, "`nodes`"),
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
        read_topology([write(tmp_path, found)])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with refuses(UsageError, "E-FILE-UNREADABLE missing.json"):
        read_topology([tmp_path / "missing.json"])


def publisher(name: str, topic: str, **keys: Any) -> dict[str, Any]:
    return {"node_name": name, "publishers": [PUBLISHER | {"topic_name": topic} | keys]}


def subscriber(name: str, *topics: str, **keys: Any) -> dict[str, Any]:
    return {"node_name": name, "subscribers": [{"topic_name": each, "msg_type": "x"} | keys for each in topics]}


def convert(folder: Path, *nodes: dict[str, Any]) -> dict[str, Any]:
    """Convert a topology with these nodes, and check that hopmeter accepts the resulting scenario."""
    (folder / "made.toml").write_text(scenario_text(folder, list(nodes)))
    return files.load(folder / "made.toml")[1]


@pytest.mark.parametrize("period_ms", [0.3, 7, 15.625, 30, 600_000, 86_400_000])
def test_a_period_stays_exact(tmp_path: Path, period_ms: float) -> None:
    rate = convert(tmp_path, publisher("a", "t", period_ms=period_ms), LISTENER)["flow"]["t"]["rate"]
    assert 1000 / rate == pytest.approx(period_ms, rel=1e-12)


def test_a_period_longer_than_a_trial_is_said(tmp_path: Path) -> None:
    nodes = [publisher("a", "t", period_ms=600_000), LISTENER]
    assert "t sends one message in each trial: its period, 600 s, is longer." in scenario_text(tmp_path, nodes)


def test_a_program_that_calls_itself_keeps_its_calls(tmp_path: Path) -> None:
    services = {"servers": [{"service_name": "s", "srv_type": "10b"}]}
    calls = {"clients": [{"service_name": "s", "srv_type": "10b", "period_ms": 100}]}
    table = convert(tmp_path, {"node_name": "both", **services, **calls})
    assert (table["flow"]["s"]["from"], table["flow"]["s"]["call"]) == ("both", "both-own")


def test_quality_of_service_that_all_flows_share_becomes_settings_of_each_transport_that_has_it(tmp_path: Path) -> None:
    table = convert(tmp_path, publisher("a", "t", qos_reliability="best_effort", qos_depth=1), LISTENER)
    assert table["settings"]["cyclonedds"] == table["settings"]["ros2"] == {"reliability": "best-effort", "depth": 1}
    assert "zeromq" not in table["settings"] and "iceoryx2" not in table["settings"]


def test_a_policy_of_an_older_file_or_one_with_the_default_has_no_note(tmp_path: Path) -> None:
    old = {"qos_reliability": "RMW_QOS_POLICY_RELIABILITY_RELIABLE", "qos_deadline": "RMW_QOS_DEADLINE_DEFAULT"}
    text = scenario_text(tmp_path, [publisher("a", "t", qos_liveliness="automatic", **old), LISTENER])
    assert "[settings]" not in text and "qos_reliability" not in text and "qos_deadline" not in text
    assert "qos_liveliness = automatic, of 1 publishers" in text.replace("\n#   ", " ")


def test_several_files_are_one_topology(tmp_path: Path) -> None:
    for name, nodes in {"a": [publisher("a", "t")], "b": [subscriber("b", "t")]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"nodes": nodes, "options": "-t 5"}))
    found = read_topology([tmp_path / "a.json", tmp_path / "b.json"])
    assert (list(found.flows), found.notes[-1]) == (["t"], "Not part of the workload: the key `options` of b.json.")
    with refuses(UsageError, "E-TOPOLOGY a.json --from"):
        read_topology([tmp_path / "a.json"])


def test_names_that_become_alike_stay_apart(tmp_path: Path) -> None:
    """Names of nodes and topics may differ only by capitals, by a truncated part, or by their namespace."""
    long = "x" * 40
    senders = [publisher(name, "t") for name in ("Cam", "cam", f"{long}1", f"{long}2")]
    spaces = [publisher("n", "t", topic_name="t") | {"node_namespace": space} for space in ("/left", "/right")]
    twice = {"node_name": "two", "publishers": [PUBLISHER, PUBLISHER, PUBLISHER]}
    table = convert(tmp_path, *senders, *spaces, twice, subscriber("b", "t", "/left/t"))
    assert len(table["flow"]) == 4 + 1 + 3, "what is published in /right has no subscriber"
    assert len({flow["from"] for flow in table["flow"].values()}) == 4 + 1 + 1


def test_of_several_servers_one_answers_and_a_second_subscription_adds_nothing(tmp_path: Path) -> None:
    calls = {"node_name": "c", "clients": [{"service_name": "s", "srv_type": "10b", "period_ms": 100}]}
    servers = {"node_name": "server", "number": 2, "servers": [{"service_name": "s", "srv_type": "10b"}]}
    nodes = [calls, servers, publisher("a", "t"), subscriber("b", "t", "t")]
    assert convert(tmp_path, *nodes)["flow"]["s"]["call"] == "server_1"
    text = scenario_text(tmp_path, nodes)
    assert "server_1 alone answers" in text and "b subscribes to t 2 times" in text


def test_a_message_of_unknown_size_is_left_out_alone(tmp_path: Path) -> None:
    nodes = [publisher("a", "t"), publisher("c", "u", msg_type="std_msgs/String"), subscriber("b", "t", "u")]
    text = scenario_text(tmp_path, nodes)
    assert list(tomllib.loads(text)["flow"]) == ["t"] and 'u of c: the size of "std_msgs/String" is unknown' in text


@pytest.mark.parametrize(("name", "participants", "flows"), [("sierra-nevada", 10, 13), ("mont-blanc", 20, 23)])
def test_the_shipped_topologies_are_as_they_were_imported(
    tmp_path: Path, name: str, participants: int, flows: int
) -> None:
    """The topology of a shipped scenario must convert to the same scenario again."""
    text = files.every()[name].read_text()
    table = tomllib.loads(text)
    assert (len(table["participant"]), len(table["flow"])) == (participants, flows)
    path = tmp_path / f"{name.replace('-', '_')}.json"
    path.write_text(json.dumps({"nodes": _nodes(table)}))
    schema, _, rest = text.partition("\n")
    assert schema == "#:schema scenario.schema.json"
    assert format_scenario(read_topology([path]), table["title"], path.name) == rest


def _nodes(table: dict[str, Any]) -> list[dict[str, Any]]:
    senders = dict.fromkeys(flow["from"] for flow in table["flow"].values())
    nodes: dict[str, Any] = {name: {"publishers": [], "subscribers": []} for name in [*senders, *table["participant"]]}
    for name, flow in table["flow"].items():
        size = int(flow["payload"].partition(":")[2])
        sent = {"topic_name": name, "msg_type": "stamped_vector", "msg_size": size, "period_ms": 1000 / flow["rate"]}
        nodes[flow["from"]]["publishers"].append(sent)
        for target in [flow["to"]] if isinstance(flow["to"], str) else flow["to"]:
            nodes[target]["subscribers"].append({"topic_name": name, "msg_type": "stamped_vector"})
    return [{"node_name": name, **node} for name, node in nodes.items()]
