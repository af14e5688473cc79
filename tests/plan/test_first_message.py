"""Tests for planning cells with `begin = "at-once"`, which measure the time to the first message."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.duets import turn_s
from hopmeter.plan.make import scheduled_s
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.plan.spec import TrialContext, node_specs
from tests.coded import lacking, refuses

from .capabilities import capabilities, make_plan, transport

PLACE = TrialContext("0123456789abcdef", 2, 7, Path("/d"), Path("/s"), {})
AT_ONCE: dict[str, Any] = {"begin": "at-once", "rate": 100.0, "duration": "4s"}


def current() -> Capabilities:
    """Return capabilities whose nodes support `begin`."""
    known = capabilities(transport("bus"))
    return replace(known, ready={key: replace(each, about={"at_once": True}) for key, each in known.ready.items()})


def plan(**given: Any) -> Plan:
    return make_plan(current(), **given)


def cell(**given: Any) -> Cell:
    (found,) = [each for each in plan(**given).cells if each.axes.transport == "bus"]
    return found


def test_the_first_message_counts_and_the_trial_is_planned_to_end_with_it() -> None:
    one = cell(**AT_ONCE, warmup=50)
    assert (one.schedule.warmup, one.schedule.messages, one.dropped) == (0, 400, "")
    assert one.schedule.limit_s >= 4
    assert scheduled_s(one) < 4


def test_only_cells_that_begin_at_once_say_so_to_their_nodes() -> None:
    said = [node_specs(cell(**AT_ONCE | {"begin": begin}), PLACE) for begin in ("at-once", "linked")]
    assert [[spec.get("begin") for _, spec in specs] for specs in said] == [["at-once"] * 2, [None] * 2]


def test_the_condition_separates_tables_and_leaves_the_ids_of_other_tables_alone() -> None:
    linked, at_once, unsaid = (cell(**AT_ONCE | {"begin": begin}).group for begin in ("linked", "at-once", None))
    assert linked == unsaid != at_once


def test_a_first_message_has_no_floor() -> None:
    cells = plan(**AT_ONCE).cells
    assert [each for each in cells if each.axes.transport == "shm"] == []
    assert all(each.comparison.floor_reason.endswith("[W-FLOOR-FIRST]") for each in cells)


@pytest.mark.parametrize(
    "given", [{"pattern": "rpc"}, {"relays": 1}, {"pace": "closed", "relays": 1}, {"pace": "max"}], ids=str
)
def test_cells_without_a_first_message_are_dropped(given: dict[str, Any]) -> None:
    assert lacking(cell(**AT_ONCE | given).dropped, "D-AT-ONCE") == []


def test_cells_between_hosts_are_dropped() -> None:
    hosts = {name: HostFacts(name, is_here=name == "a", clock="c", network="n") for name in ("a", "b")}
    (one,) = make_plan(replace(current(), hosts=hosts), cores="free", **AT_ONCE).cells
    assert lacking(one.dropped, "D-AT-ONCE") == []


def test_nodes_of_an_older_version_have_to_be_built_again() -> None:
    (one,) = [
        each for each in make_plan(capabilities(transport("bus")), **AT_ONCE).cells if each.axes.transport == "bus"
    ]
    assert lacking(one.dropped, "D-NOT-BUILT") == []


def test_two_sides_do_not_run_at_once() -> None:
    duet = cell(begin="linked", rate=1000.0).with_values(side="old")
    assert turn_s(duet, transport("bus"))
    assert turn_s(duet.with_values(begin="at-once"), transport("bus")) is None


def test_a_search_for_the_highest_rate_needs_links() -> None:
    with refuses(UsageError, "E-VALUES-CONFLICT begin"):
        plan(begin="at-once", search={"bound_p99": "5ms"})
