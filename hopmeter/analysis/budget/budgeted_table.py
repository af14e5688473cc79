"""The state of one table in a run with a time budget: finished rounds, open questions and the next interim analysis
(look)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hopmeter.analysis.ranking.open_questions import Answer, Question
from hopmeter.analysis.ranking.ranked_cells import choices
from hopmeter.model.cell import Cell
from hopmeter.plan.budget import LEVEL_ROUNDS, shows_level
from hopmeter.plan.make import Plan
from hopmeter.scenario.resolve import least_rounds

UNITS = {"order": "pairs", "best": "pairs", "require": "rows"}
"""The unit of open questions for each value of `until`. If `until` is a precision, open questions are counted in
medians."""
EQUAL_ROUNDS = 8
"""Tables alternate evenly until each has at least this many rounds."""
REFERENCE_STEP = 2
"""A reference takes part in only one of every `REFERENCE_STEP` rounds. A reference needs fewer trials because it is not
ranked."""


@dataclass
class Table:
    """The cells of one table, and how far their measurement has progressed."""

    group: str
    cells: list[Cell]
    level_only: bool
    """Whether the table only shows latency levels and has no question to answer."""
    least: int
    """The minimum number of rounds that a table with a question to answer gets."""
    is_alone: bool = False
    """Whether the table has only one candidate, so that there is nothing to rank."""
    rare: frozenset[str] = frozenset()
    """The references that skip some rounds."""
    rounds: int = 0
    next_number: int = 0
    active: frozenset[str] = frozenset()
    answer: Answer | None = None
    decided: frozenset[Question] = frozenset()
    """The questions that the looks so far have answered. Later looks cannot reopen a question that is answered."""
    looks: list[dict[str, Any]] = field(default_factory=list)
    next_look: int = 0
    """The number of rounds after which the next look is due."""

    @property
    def asks(self) -> bool:
        """Return whether interim analyses (looks) answer the question of this table. A workload has no interim
        analyses, because its rounds continue until the budget is used up."""
        return not self.level_only and self.cells[0].workload is None

    @property
    def is_decided(self) -> bool:
        """Return whether the table needs no more rounds."""
        if self.level_only:
            return self.rounds >= LEVEL_ROUNDS
        if self.is_alone:
            return self.rounds >= self.least
        return self.answer is not None and not self.open

    @property
    def open(self) -> frozenset[Question]:
        """Return the questions about the table that no interim analysis has answered yet."""
        return self.answer.asked - self.decided if self.answer else frozenset()

    @property
    def spent_level(self) -> float:
        """Return the sum of the significance levels of all finished interim analyses (looks)."""
        return float(sum(each["alpha"] for each in self.looks))

    def urgency(self) -> tuple[bool, float]:
        """Return a sort key that determines which table is measured next. The next round measures the table with the
        smallest sort key.

        At first, all tables are measured in equal numbers of rounds. A table pauses once it has been measured in as
        many rounds as the noise of its undecided pairs requires. Once every table has reached its required number of
        rounds, further rounds are divided in proportion to these numbers.

        The estimated differences between cells do not affect which table is measured next. If tables were measured for
        longer because their cells seem to differ, some differences would falsely become significant.
        """
        if self.level_only:
            return False, self.rounds * self.least / LEVEL_ROUNDS
        if self.answer is None:
            return False, float(self.rounds)
        needed = max(self.answer.needed_rounds or 0.0, EQUAL_ROUNDS)
        return (False, float(self.rounds)) if self.rounds < needed else (True, self.rounds / needed)

    def is_due(self, cell: Cell) -> bool:
        """Return whether the next round includes the given active cell."""
        return cell.id not in self.rare or self.next_number % REFERENCE_STEP == 0

    def share_of_rounds(self, cell: Cell) -> float:
        """Return the fraction of the rounds that include a cell."""
        return 1 / REFERENCE_STEP if cell.id in self.rare else 1.0


def table_of(plan: Plan, until: str, group: str, cells: list[Cell]) -> Table:
    """Return the state of a table before its first round."""
    level_only, least = all(shows_level(cell, plan) for cell in cells), least_rounds(plan.scenario)
    has_pairs = cells[0].workload is not None or sum(cell.comparison.ranked for cell in cells) > 1
    is_alone = UNITS.get(until) == "pairs" and not has_pairs
    rare = frozenset() if level_only else _rare(cells, until)
    every = frozenset(cell.id for cell in cells)
    return Table(group, cells, level_only, least, is_alone, rare, active=every, next_look=least)


def _rare(cells: list[Cell], until: str) -> frozenset[str]:
    """Return the ids of the reference cells that are measured only in some of the rounds. Return an empty set unless
    the run's question compares pairs of installable transports."""
    chosen = {cell.id for cell in choices(cells)}
    is_special = any(cell.workload is not None or cell.comparison.counterpart for cell in cells)
    if UNITS.get(until) != "pairs" or len(chosen) < 2 or is_special:
        return frozenset()
    return frozenset(cell.id for cell in cells) - chosen
