"""Between machines, a transport gets the settings that let it reach another machine, unless the user overrides these
settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopmeter.manifest import Manifest, Readiness, every
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Workload
from hopmeter.plan import make
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.scenario import Scenario
from hopmeter.system.toml_files import validate
from tests.coded import lacking

from .capabilities import capabilities, transport

ENDPOINT = {"endpoint": {"default": "ipc", "choices": ["ipc", "tcp"], "help": "Where."}}
HWM = {"hwm": {"default": 1000, "min": 0, "help": "Queue."}}
WIRE = transport("wire", settings=ENDPOINT | HWM, network={"endpoint": "tcp"})
LOCAL = transport("local")


def host(name: str, machine: str) -> HostFacts:
    ready = {
        (each, language): Readiness(each, language, ready=True)
        for each in (*every(), "wire", "local")
        for language in ("rust", "c++", "python")
    }
    return HostFacts(name, name == "a", ready=ready, cores=(0, 1), network=machine, clock=machine)


FAR = {"a": host("a", "one"), "b": host("b", "two")}
NEAR = {"a": host("a", "one"), "b": host("b", "one")}


def cells(found: dict[str, HostFacts], *manifests: Manifest, **given: Any) -> list[Cell]:
    where: Capabilities = replace(capabilities(*(manifests or (WIRE, LOCAL))), hosts=found)
    table = {"title": "t", "question": "q?", "language": "rust", "wait": "block", "cores": "free"}
    return make("s", validate(Scenario, {"transport": "wire", **table, **given}, "test"), where).cells


def test_the_setting_that_leaves_the_machine_is_chosen_and_shown() -> None:
    (far,), (near,) = cells(FAR), cells(NEAR)
    assert (far.dropped, far.carriage.settings["endpoint"], far.carriage.profile) == ("", "tcp", "endpoint=tcp")
    assert (near.dropped, near.carriage.profile) == ("", ""), "one machine keeps the default"


def test_other_settings_stay_as_they_are_given() -> None:
    found = cells(FAR, settings={"wire": {"hwm": [5, 1000]}})
    assert [each.carriage.profile for each in found] == ["endpoint=tcp hwm=5", "endpoint=tcp"]


def test_a_given_value_that_stays_on_the_machine_is_dropped_and_the_others_run() -> None:
    local, tcp = cells(FAR, settings={"wire": {"endpoint": ["ipc", "tcp"]}})
    assert lacking(local.dropped, "D-HOST-NETWORK endpoint=ipc endpoint=tcp") == [] and not tcp.dropped
    assert not any(each.dropped for each in cells(NEAR, settings={"wire": {"endpoint": ["ipc", "tcp"]}}))


def test_what_never_leaves_the_machine_is_dropped() -> None:
    assert lacking(cells(FAR, transport="local")[0].dropped, "D-HOST-NETWORK local") == []


@pytest.mark.parametrize("name", [name for name, each in every().items() if "process" in each.placements])
def test_every_transport_runs_between_machines_by_default_or_says_that_it_cannot(name: str) -> None:
    one = every()[name]
    ready = {(name, word): Readiness(name, word, ready=True) for word in one.offers}
    where = replace(capabilities(), manifests=every(), ready=ready, hosts=FAR)
    table = {"title": "t", "question": "q?", "transport": name, "wait": next(iter(one.offers.values())).waits[0]}
    (cell,) = make("s", validate(Scenario, table | {"cores": "free"}, "test"), where).cells
    assert ("D-HOST-NETWORK" in cell.dropped) == (one.network is None), cell.dropped
    assert cell.dropped or all(cell.carriage.settings[key] == value for key, value in (one.network or {}).items())


PROGRAMS = {"camera": {"host": "b"}, "detector": {"host": "b"}, "operator": {"host": "a"}}


def workload(**flows: dict[str, Any]) -> tuple[Cell, Workload]:
    (cell,) = cells(FAR, participant=PROGRAMS, flow={name: {"rate": 10, **keys} for name, keys in flows.items()})
    assert cell.workload is not None
    return cell, cell.workload


def test_a_transport_of_flows_on_one_host_need_not_leave_it() -> None:
    """The flow `frames` stays on the robot, and another transport carries the flow between the hosts."""
    frames = {"from": "camera", "to": "detector", "transport": "local"}
    cell, _ = workload(frames=frames, objects={"from": "detector", "to": "operator"})
    assert (cell.dropped, cell.carriage.profile) == ("", "endpoint=tcp")
    cell, _ = workload(frames=frames | {"to": "operator"}, objects={"from": "detector", "to": "operator"})
    assert lacking(cell.dropped, "D-HOST-NETWORK local") == []


def test_each_transport_of_a_flow_decides_by_its_own_participants() -> None:
    stays = {"from": "camera", "to": "detector", "transport": "wire", "settings": {"hwm": 5}}
    cell, found = workload(stays=stays, crosses={"from": "camera", "to": "operator"})
    carrier = found.flow("stays").carrier
    assert carrier is not None and carrier.profile == "hwm=5"
    assert (cell.dropped, cell.carriage.profile) == ("", "endpoint=tcp")
    cell, found = workload(crosses=stays | {"to": "operator"}, other={"from": "camera", "to": "detector"})
    carrier = found.flow("crosses").carrier
    assert carrier is not None and (carrier.profile, cell.carriage.profile) == ("endpoint=tcp hwm=5", "")


def test_one_transport_with_local_and_crossing_flows_stays_one_process() -> None:
    cell, found = workload(stays={"from": "camera", "to": "detector"}, crosses={"from": "camera", "to": "operator"})
    assert cell.carriage.profile == "endpoint=tcp" and not found.bridges
    assert all(not each.transports for each in found.participants)


def test_a_given_value_of_a_flow_splits_its_participant_from_flows_that_cross() -> None:
    stays = {"from": "camera", "to": "detector", "transport": "wire", "settings": {"endpoint": "ipc"}}
    cell, found = workload(stays=stays, crosses={"from": "detector", "to": "operator", "after": "stays", "rate": None})
    assert cell.dropped == "" and [each.name for each in found.bridges] == ["stays>crosses"]
    assert found.participant("detector").transports == ("wire", "wire endpoint=tcp")


def test_a_broker_on_another_machine_is_reached_too() -> None:
    """The broker runs on the host of the first node, but the flow runs on another host."""
    broker = {"title": "d", "command": ["d"], "address": "{host}:{port}", "ready": "port"}
    bus = transport("local", broker=broker)
    programs = {"operator": {"host": "a"}, "camera": {"host": "b"}, "other": {"host": "b"}}
    far = {"from": "camera", "to": "other", "rate": 1, "transport": "local"}
    flows = {"near": {"from": "operator", "to": "camera", "rate": 1}, "far": far}
    (cell,) = cells(FAR, WIRE, bus, participant=programs, flow=flows)
    assert lacking(cell.dropped, "D-HOST-NETWORK local") == []
