"""Tests for cells over several hosts: the endpoint placement, and the cells that hosts cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.manifest import Readiness
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan, make
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.plan.placement.hosts import HERE, assume_hosts
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.topology import topology
from hopmeter.report.words.workload_words import graph_lines
from hopmeter.scenario import Scenario
from hopmeter.schemas import Library, library_of
from hopmeter.system.toml_files import validate
from tests.coded import lacking

from .capabilities import capabilities, make_plan, transport

READY = {("bus", language): Readiness("bus", language, ready=True) for language in ("rust", "python")}
FLOW = {"frames": {"from": "camera", "to": "motor", "rate": 10}}


def hosts(*names: str, **changed: Any) -> dict[str, HostFacts]:
    """Return hosts that are alike except for the last host, which has the `changed` facts."""
    here = HostFacts(names[0], is_here=True, clock="c", network="n")
    others = [HostFacts(name, ready=READY, cores=(0, 1), clock="c", network="n") for name in names[1:]]
    return {each.name: each for each in (here, *others[:-1], replace(others[-1], **changed))}


def on(found: dict[str, HostFacts], manifest: Any = None) -> Capabilities:
    return replace(capabilities(manifest or transport("bus")), hosts=found)


def plan(found: dict[str, HostFacts], manifest: Any = None, **given: Any) -> Plan:
    return make_plan(on(found, manifest), cores="free", **given)


def places(cell: Cell) -> list[tuple[str, str]]:
    return [(each.role, each.host) for each in topology(cell).endpoints]


def test_endpoints_are_placed_one_by_one_and_every_pair_alike() -> None:
    (cell,) = plan(hosts("a", "b", "c"), relays=3, pairs=2).cells
    chain = [("source", "a"), ("relay", "b"), ("relay", "c"), ("relay", "a"), ("sink", "b")]
    assert places(cell) == chain * 2 and cell.nodes.hosts == "a>b>c"
    (cell,) = plan(hosts("a", "b"), pattern="scatter", sinks=3).cells
    assert places(cell) == [("client", "a"), ("server", "b"), ("server", "a"), ("server", "b")]


def test_a_participant_runs_on_its_host_and_one_without_a_host_here() -> None:
    (cell,) = plan(hosts("a", "b"), participant={"camera": {"host": "b"}, "motor": {}}, flow=FLOW).cells
    assert places(cell) == [("source", "b"), ("sink", "a")] and cell.nodes.hosts == "camera:b motor:a"
    assert cell.workload is not None
    assert [line.split()[:2] for line in graph_lines(cell.workload)][:4] == [
        ["on", "b:"],
        ["camera", "rust,"],
        ["on", "a:"],
        ["motor", "rust,"],
    ]


def test_hosts_are_a_condition_and_leave_the_ids_of_other_cells_as_they_are() -> None:
    one, other, none = (plan(found).cells[0] for found in (hosts("a", "b"), hosts("b", "a"), {}))
    assert len({one.group, other.group, none.group}) == 3
    workload = {"participant": {"camera": {}, "motor": {}}, "flow": FLOW}
    placed, ordinary = (plan(found, **workload).cells[0] for found in (hosts("a", "b"), {}))
    assert placed.graph == ordinary.graph and placed.group != ordinary.group
    assert Cell.from_json(placed.as_json()) == placed


def test_each_node_gets_the_folders_of_its_host() -> None:
    (cell,) = plan(hosts("a", "b")).cells
    own, far = (TrialContext("0" * 16, 0, 1, Path(f"/{name}/s"), Path(f"/{name}"), {}) for name in "ab")
    specs = [spec for _, spec in node_specs(cell, own, {"a": own, "b": far})]
    assert [spec["directory"] for spec in specs] == ["/a/s", "/b/s"]
    assert [spec["endpoints"][0]["samples"] for spec in specs] == ["/a/0.raw", "/b/1.raw"]
    assert specs[0]["links"] == specs[1]["links"]


LACKING = {**READY, ("bus", "rust"): replace(READY["bus", "rust"], ready=False, missing="?", get="hopmeter build bus")}


@pytest.mark.parametrize(
    ("changed", "given", "says"),
    [
        ({}, {}, ""),
        ({"ready": LACKING}, {}, "D-HOST-LACKS b bus (rust) `hopmeter build bus`"),
        ({"ready": {}}, {}, "D-HOST-LACKS b"),
        ({}, {"placement": "thread"}, "D-HOST-PLACEMENT"),
        ({"cores": (0,)}, {"cores": "0,1"}, "D-NO-CORES b 1"),
        ({"clock": "other"}, {}, ""),
        ({"network": "other"}, {}, "D-HOST-NETWORK bus"),
    ],
)
def test_a_cell_that_its_hosts_cannot_run_is_dropped(changed: Any, given: dict[str, Any], says: str) -> None:
    (cell,) = make_plan(on(hosts("a", "b", **changed)), **{"cores": "free", **given}).cells
    assert lacking(cell.dropped, says) == []


@pytest.mark.parametrize(
    ("found", "given", "says"),
    [
        ({}, {"camera": {"host": "b"}}, "E-HOST-UNKNOWN participant.camera.host b --hosts"),
        (hosts("a", "b"), {"camera": {"host": "c"}}, "E-HOST-UNKNOWN participant.camera.host c"),
        ({"b": hosts("a", "b")["b"]}, {"camera": {"host": "b"}}, "E-HOST-UNKNOWN participant.motor"),
    ],
)
def test_a_host_that_nobody_serves_is_named(found: dict[str, HostFacts], given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan(found, participant={"motor": {}, **given}, flow=FLOW)
    assert lacking(f"{refused.value.message} {refused.value.remedy}", says) == []


def test_a_plan_without_hosts_assumes_that_they_are_machines_like_this_one() -> None:
    where = capabilities(transport("bus"), machine=Machine((0, 1)))
    given = {"participant": {"camera": {"host": "b"}, "motor": {}}, "flow": FLOW, "wait": "block"}
    scenario = validate(Scenario, {"title": "t", "question": "q?", "transport": "bus", **given}, "test")
    assumed = assume_hosts(scenario, where.ready, where.machine)
    assert [(each.name, each.is_here, each.network) for each in assumed.values()] == [
        ("b", False, "b"),
        (HERE, True, ""),
    ]
    (cell,) = make("s", scenario, replace(where, hosts=assumed)).cells
    assert cell.nodes.hosts == f"camera:b motor:{HERE}"
    assert lacking(cell.dropped, "D-HOST-NETWORK bus") == []
    alone = scenario.model_copy(update={"participant": {}})
    assert assume_hosts(alone, where.ready, where.machine) == {}


def test_no_floor_is_measured_on_another_machine() -> None:
    (cell,) = plan(hosts("a", "b")).cells
    assert lacking(cell.comparison.floor_reason, "W-FLOOR-HOSTS") == []


def test_why_is_measured_on_one_machine() -> None:
    with pytest.raises(UsageError) as refused:
        plan(hosts("a", "b"), why=True)
    assert refused.value.code == "E-HOST-CONFLICT"


def test_a_host_without_the_code_of_a_message_drops_the_cell_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "facts", {"bytes": 100})
    given = {"payload": "message:robot-state", "codec": "protobuf", "language": "rust"}
    (cell,) = plan(hosts("a", "b"), **given).cells
    assert lacking(cell.dropped, "D-HOST-LACKS the host b lacks the code of protobuf for message:robot-state") == []
    assert "hopmeter build --message robot-state" in cell.dropped
    name = library_of("message:robot-state", "protobuf", "rust").folder.name
    (cell,) = plan(hosts("a", "b", codecs=(name,)), **given).cells
    assert not cell.dropped


def test_a_transport_that_meets_in_a_folder_needs_one_host() -> None:
    manifest = transport("bus", meets_in_folder=True)
    (cell,) = plan(hosts("a", "b"), manifest).cells
    assert lacking(cell.dropped, "D-HOST-NETWORK bus") == []
