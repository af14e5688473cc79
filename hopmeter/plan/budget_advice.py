"""Suggest which cells to measure if the time budget is too short for all cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hopmeter.model.cell import Cell
from hopmeter.plan.make import Plan

Cost = Callable[[Sequence[Cell]], float]
"""A function that returns the time, in seconds, for the minimum number of rounds of the given cells."""
OPTIONS = {"transport": "transport", "language": "language", "payload": "payload", "rate_hz": "rate", "wait": "wait"}
"""The conditions that the suggestion may restrict, with their command-line options, in order of preference."""


def fewer_cells(made: Plan, budget_s: float, cost: Cost) -> str:
    """Return an option that limits one condition to values whose cells fit into the time budget, or an empty string if
    no option does."""
    requested = _own_cells(made)
    for axis, option in OPTIONS.items():
        values = list(dict.fromkeys(cell[axis] for cell in requested))
        if len(values) > 1 and (fitting := _fitting(made, requested, axis, values, budget_s, cost)):
            return f"--{option} {','.join(_word(value) for value in values if value in fitting)}"
    return ""


def _own_cells(made: Plan) -> list[Cell]:
    """Return the cells that the user requested. Cells that serve only as floors are omitted."""
    floors = {cell.comparison.floor for cell in made.runnable}
    named = set(made.scenario.transport or []) | {name for case in made.scenario.case for name in case.transport or []}
    return [cell for cell in made.runnable if cell.id not in floors or cell.axes.transport in named]


def _fitting(
    made: Plan, requested: Sequence[Cell], axis: str, values: Sequence[object], budget_s: float, cost: Cost
) -> list[object]:
    """Return the largest set of values whose cells, together with their floors, fit into the time budget. Values whose
    cells take little time are preferred."""

    def needed_s(chosen: Sequence[object]) -> float:
        cells = [cell for cell in requested if cell[axis] in chosen]
        floors = {cell.comparison.floor for cell in cells} - {cell.id for cell in cells}
        return cost([*cells, *(cell for cell in made.runnable if cell.id in floors)])

    cheapest = sorted(values, key=lambda value: needed_s([value]))
    many = next((many for many in range(len(values) - 1, 0, -1) if needed_s(cheapest[:many]) <= budget_s), 0)
    return cheapest[:many]


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
