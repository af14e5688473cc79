"""Tests for cells that run one flow of a workload alone, with the flows that cause it."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan, budget
from hopmeter.plan.floors import FLOORS
from hopmeter.plan.sides import add_old_sides, settings_side
from hopmeter.plan.spec import node_specs
from hopmeter.plan.topology import core_of, topology
from hopmeter.plan.workloads.workload_cells import rows_of, whole_id
from hopmeter.runtime.order import planned_trials

from .capabilities import capabilities, transport
from .test_workloads import FLOWS, PARTICIPANTS, PLACE, make_plan

DEADLINES = FLOWS | {name: FLOWS[name] | {"deadline": "9ms"} for name in ("frames", "state", "nested")}
CHAINS = {"frames": {"frames"}, "state": {"frames", "objects", "state"}, "ask": {"ask"}, "nested": {"ask", "nested"}}


def plan(**given: Any) -> Plan:
    return make_plan(**{"alone": True, "flow": DEADLINES, **given})


def cells(**given: Any) -> dict[str, Cell]:
    """Return the cells by the flow that they run alone; the cell of the whole workload has an empty key."""
    return {each.comparison.alone: each for each in plan(**given).cells}


def flow_group(cell: Cell, name: str) -> str:
    return next(row.group for row in rows_of(cell) if row.flow == name)


def test_each_flow_with_a_deadline_has_a_cell_with_the_flows_that_cause_it() -> None:
    found = cells()
    assert set(found) == {"", *CHAINS}
    for name, chain in CHAINS.items():
        assert found[name].id == f"{found[''].id}-alone-{name}"
        assert found[name].comparison.beside == found[""].id
        (row,) = rows_of(found[name])[1:]
        assert (row.flow, row.group, whole_id(row)) == (name, flow_group(found[""], name), found[name].id)
        numbers = {flow["number"] for _, spec in node_specs(found[name], PLACE) for flow in spec["flows"]}
        assert numbers == {list(FLOWS).index(each) for each in chain}


def test_an_endpoint_has_the_same_id_core_and_participant_alone() -> None:
    found = cells(cores="0,1,2")
    whole = {each.id: each for each in topology(found[""]).endpoints}
    for name in CHAINS:
        ends = topology(found[name]).endpoints
        assert [whole[each.id] for each in ends] == list(ends)
        assert [core_of(found[name], each) for each in ends] == [core_of(found[""], whole[each.id]) for each in ends]


def test_only_the_participants_of_the_chain_run_each_with_its_own_threads() -> None:
    specs = [spec for _, spec in node_specs(cells()["nested"], PLACE)]
    assert [(spec["node"], spec["threads"], spec["fifo"], spec["wait"]) for spec in specs] == [
        (0, 0, 5, "block"),
        (1, 1, 0, "block"),
        (2, 0, 0, "spin"),
    ]
    assert [(spec["node"], spec["threads"]) for _, spec in node_specs(cells()["frames"], PLACE)] == [
        (0, 0),
        (1, 1),
        (2, 0),
    ]
    without_camera = {"from": "motor", "to": "detector", "rate": 5, "deadline": "9ms"}
    alone = cells(flow=FLOWS | {"new": without_camera})["new"]
    assert [(spec["threads"], spec["fifo"]) for _, spec in node_specs(alone, PLACE)] == [(1, 0), (0, 0)]


def test_a_flow_that_all_others_cause_has_no_company() -> None:
    flows = {name: FLOWS[name] for name in ("frames", "objects")} | {"state": DEADLINES["state"]}
    assert set(cells(flow=flows)) == {"", "frames"}


def test_alone_is_off_by_default() -> None:
    assert set(cells(alone=False)) == {""}


def test_a_cell_alone_is_in_the_rounds_of_its_workload() -> None:
    made = plan(trials=3)
    assert len({cell.group for cell in made.runnable}) == 1
    rounds = [
        [planned.cell.id for planned in planned_trials(made.runnable, 1) if planned.round == number]
        for number in range(3)
    ]
    assert all(sorted(each) == sorted(cell.id for cell in made.cells) for each in rounds)


def test_a_budget_has_to_allow_the_rounds_of_the_flows_alone() -> None:
    assert budget.least_s(plan(budget="60m")) == pytest.approx(5 * budget.least_s(plan(budget="60m", alone=False)))


def test_a_dropped_workload_has_no_flows_alone() -> None:
    assert set(cells(participant=PARTICIPANTS | {"motor": {"cores": "9"}})) == {""}


def test_a_run_with_two_sides_measures_no_flow_alone() -> None:
    where = capabilities(transport("bus", settings={"hwm": {"default": 10, "min": 0, "help": "H."}}))
    with pytest.raises(UsageError, match="E-OPTION-CONFLICT"):
        add_old_sides(plan(), settings_side("set:hwm=2", where, ["bus"]))


def test_a_workload_has_no_floor() -> None:
    assert not {cell.axes.transport for cell in plan().cells} & set(FLOORS.values())
