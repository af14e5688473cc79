"""Tests for planning cells with a restart, which measure the time to the next message."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest
from hopmeter.model.cell import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.plan.restarts import restart_after_s
from hopmeter.plan.spec import TrialContext, node_specs
from tests.coded import lacking, refuses

from .capabilities import capabilities, make_plan, transport

PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {})
RESTART: dict[str, Any] = {"restart": "broker", "rate": 100.0, "duration": "8s", "warmup": 50}


def bus(**given: Any) -> Manifest:
    broker = {"title": "B", "command": ["sh"], "ready": "port"}
    return transport("bus", **{"broker": broker, **given})


def current(manifest: Manifest) -> Capabilities:
    """Return capabilities whose nodes survive restarts."""
    known = capabilities(manifest)
    return replace(known, ready={key: replace(each, about={"restarts": True}) for key, each in known.ready.items()})


def cell(manifest: Manifest | None = None, **given: Any) -> Cell:
    cells = make_plan(current(manifest or bus()), **RESTART | given).cells
    (found,) = [each for each in cells if each.axes.transport == "bus"]
    return found


def test_the_process_is_killed_after_the_warm_up_and_an_eighth_of_the_messages() -> None:
    one = cell(pause="2s")
    assert (one.dropped, one.axes.pause_s) == ("", 2.0)
    assert restart_after_s(one) == 0.5 + 1.0
    specs = [spec for _, spec in node_specs(one, PLACE)]
    assert [spec["restart"] for spec in specs] == [{"after_ns": 1_500_000_000}] * 2


def test_cells_without_a_restart_say_nothing_of_it_and_have_no_pause() -> None:
    one = cell(restart="none", pause=["1s", "2s"])
    assert one.axes.pause == "1s", "of two cells that differ in nothing else, one remains"
    assert all("restart" not in spec for _, spec in node_specs(one, PLACE))


def test_restarts_and_pauses_separate_tables_and_leave_the_ids_of_other_tables_alone() -> None:
    given: list[dict[str, Any]] = [{"restart": None}, {"restart": "none"}, {}, {"pause": "1s"}, {"pause": "2s"}]
    unsaid, none, restart, second, longer = (cell(**each).group for each in given)
    assert unsaid == none != restart == second != longer


def test_no_floor_is_restarted() -> None:
    (one,) = [each for each in make_plan(current(bus()), **RESTART).cells if not each.dropped]
    assert lacking(one.comparison.floor_reason, "W-FLOOR-RESTART") == []


@pytest.mark.parametrize(
    "given",
    [{"pattern": "rpc"}, {"relays": 1}, {"pace": "max", "rate": None}, {"begin": "at-once"}, {"pause": "7s"}],
    ids=str,
)
def test_cells_without_a_recovery_are_dropped(given: dict[str, Any]) -> None:
    assert lacking(cell(**given).dropped, "D-RESTART") == []


def test_a_transport_without_a_broker_has_none_to_restart() -> None:
    assert lacking(cell(transport("bus")).dropped, "D-RESTART bus") == []


def test_a_sink_is_restarted_without_a_broker_if_it_has_its_own_process() -> None:
    assert cell(transport("bus"), restart="sink").dropped == ""
    assert lacking(cell(transport("bus"), restart="sink", placement="thread").dropped, "D-RESTART") == []


@pytest.mark.parametrize("process", ["sink", "broker"])
def test_nothing_is_restarted_if_no_process_can_join_later(process: str) -> None:
    assert lacking(cell(bus(late_processes=False), restart=process).dropped, "D-RESTART bus") == []


def test_cells_between_hosts_are_dropped() -> None:
    hosts = {name: HostFacts(name, is_here=name == "a", clock="c", network="n") for name in ("a", "b")}
    (one,) = make_plan(replace(current(bus()), hosts=hosts), cores="free", **RESTART).cells
    assert lacking(one.dropped, "D-RESTART") == []


def test_nodes_of_an_older_version_have_to_be_built_again() -> None:
    found = [each for each in make_plan(capabilities(bus()), **RESTART).cells if each.axes.transport == "bus"]
    assert [lacking(each.dropped, "D-NOT-BUILT") for each in found] == [[]]


def test_a_search_for_the_highest_rate_restarts_nothing() -> None:
    with refuses(UsageError, "E-VALUES-CONFLICT restart"):
        make_plan(current(bus()), restart="broker", search={"bound_p99": "5ms"})


def test_a_pause_is_a_duration() -> None:
    with refuses(UsageError, "E-VALUE-FORM pause"):
        cell(pause="long")
