"""Tests for the background load in a plan: the load is a condition of each cell, on cores of this machine."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.model.cell import Cell
from hopmeter.plan.placement.background_load import Load, load_of
from hopmeter.plan.placement.cores import Machine
from tests.coded import lacking

from .capabilities import capabilities, make_plan, transport
from .test_workloads import make_plan as make_workload

LOAD = {"cpu": "50%", "memory": "500MB/s"}


def plan(**given: Any) -> Any:
    return make_plan(capabilities(transport("bus")), cores="free", **given)


def group(cells: list[Cell]) -> set[str]:
    return {cell.group for cell in cells}


def test_cells_with_a_load_and_their_floors_have_it_as_a_condition() -> None:
    made = plan(background=LOAD)
    assert {cell.nodes.background for cell in made.cells} == {"cpu 50%, memory 500MB/s"}
    assert any(cell.comparison.floor for cell in made.cells)
    assert not group(made.cells) & group(plan().cells)


def test_a_workload_has_it_too() -> None:
    loaded, alone = make_workload(background=LOAD), make_workload()
    assert {cell.nodes.background for cell in loaded.cells} == {"cpu 50%, memory 500MB/s"}
    assert not group(loaded.cells) & group(alone.cells)


@pytest.mark.parametrize(
    ("cores", "expected"), [({}, (0, 1, 2, 3)), ({"cores": "free"}, (0, 1, 2, 3)), ({"cores": "2,1,2"}, (2, 1))]
)
def test_a_load_has_a_thread_on_each_of_its_cores(cores: dict[str, str], expected: tuple[int, ...]) -> None:
    scenario = plan(background=LOAD | cores).scenario
    assert load_of(scenario, Machine((0, 1, 2, 3))) == Load(expected, 50, 0.5)


def test_without_a_load_there_is_none() -> None:
    assert load_of(plan().scenario, Machine((0, 1))) is None


def test_cells_are_dropped_if_the_cores_of_the_load_are_absent() -> None:
    made = plan(background=LOAD | {"cores": "7"})
    assert not made.runnable
    assert lacking(made.cells[0].dropped, "D-NO-CORES background.cores 7") == []
