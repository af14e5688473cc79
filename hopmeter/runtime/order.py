"""The order of trials. A round consists of one trial of each cell of a table, in random order, so that drift affects
all cells equally.

If there are several tables, their rounds alternate.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult


@dataclass(frozen=True)
class PlannedTrial:
    """One trial, with its position in the run's order of trials."""

    cell: Cell
    trial: int
    order: int
    seed: int
    """The seed for all random values in the trial."""
    round: int = 0
    """The number of the round within its table."""


def planned_trials(cells: Sequence[Cell], seed: int, done: Sequence[TrialResult] = ()) -> list[PlannedTrial]:
    """Return the trials of the given cells that still have to run, in execution order. A seed always gives one
    particular order of trials.

    The remaining trials of an interrupted round form a separate round.
    """
    left = _without({(result.cell, result.trial) for result in done}, _rounds(cells, seed))
    return list(_number_rounds(left, begun_rounds(cells, done)))


def with_counterparts(todo: Iterable[PlannedTrial]) -> Iterator[list[PlannedTrial]]:
    """Yield the trials in order, usually as lists of one trial. If the trials of a cell's two sides are adjacent in a
    round, both trials are yielded as one list."""
    waiting: list[PlannedTrial] = []
    for planned in todo:
        if waiting and not _are_sides(waiting[0], planned):
            yield [waiting.pop()]
        waiting.append(planned)
        if len(waiting) == 2:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _are_sides(one: PlannedTrial, other: PlannedTrial) -> bool:
    return one.cell.comparison.counterpart == other.cell.id and one.round == other.round


def tables(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Return the cells, grouped by table. The order of the tables is the order in which the tables' first cells
    appear."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.group, []).append(cell)
    return found


def begun_rounds(cells: Iterable[Cell], done: Iterable[TrialResult]) -> dict[str, int]:
    """For each table, return the number of the next round: the highest round number in `done` plus one."""
    group = {cell.id: cell.group for cell in cells}
    first: dict[str, int] = Counter()
    for result in done:
        if result.cell in group and result.round is not None:
            first[group[result.cell]] = max(first[group[result.cell]], result.round + 1)
    return first


def _rounds(cells: Sequence[Cell], seed: int) -> Iterator[list[PlannedTrial]]:
    """Yield all planned rounds, including the trials that have already finished."""
    draw, order = random.Random(seed), 0
    for trial in range(max((cell.schedule.trials for cell in cells), default=0)):
        for table in tables(cells).values():
            in_round = [cell for cell in table if trial < cell.schedule.trials]
            in_round = shuffle(in_round, draw)
            yield [
                PlannedTrial(cell, trial, order + place, draw.getrandbits(63)) for place, cell in enumerate(in_round)
            ]
            order += len(in_round)


def shuffle(cells: Sequence[Cell], draw: random.Random) -> list[Cell]:
    """Return the given cells in random order. If a cell has two sides, the cells of the two sides stay adjacent."""
    units: dict[str, list[Cell]] = {}
    for cell in cells:
        units.setdefault(min(cell.id, cell.comparison.counterpart or cell.id), []).append(cell)
    shuffled = list(units.values())
    draw.shuffle(shuffled)
    for unit in shuffled:
        draw.shuffle(unit)
    return [cell for unit in shuffled for cell in unit]


def _without(done: set[tuple[str, int]], rounds: Iterable[list[PlannedTrial]]) -> Iterator[list[PlannedTrial]]:
    for of_round in rounds:
        yield [planned for planned in of_round if (planned.cell.id, planned.trial) not in done]


def _number_rounds(rounds: Iterable[list[PlannedTrial]], first: Mapping[str, int]) -> Iterator[PlannedTrial]:
    """Assign numbers to the rounds of each table, starting with the number in `first`, and yield all trials."""
    following = Counter(first)
    for of_round in filter(None, rounds):
        group = of_round[0].cell.group
        for planned in of_round:
            yield replace(planned, round=following[group])
        following[group] += 1
