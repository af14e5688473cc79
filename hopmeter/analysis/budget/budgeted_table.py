"""A table of a run with a budget: its rounds so far, what is open, and when its next round is due."""

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
"""The unit of the open questions; medians if a percentage is asked."""
EQUAL_ROUNDS = 8
"""The rounds of the tables alternate at least until each has so many rounds."""
REFERENCE_STEP = 2
"""References take part in one of so many rounds: nobody chooses between them, so they have fewer trials."""


@dataclass
class Table:
    """A table's cells, and what is known about it."""

    group: str
    cells: list[Cell]
    level_only: bool
    """Whether it only shows the level, and decides nothing."""
    least: int
    """The least number of rounds of a table that decides something."""
    is_alone: bool = False
    """Whether it has one candidate, and so no order."""
    rare: frozenset[str] = frozenset()
    """The references that do not take part in each round."""
    rounds: int = 0
    next_number: int = 0
    active: frozenset[str] = frozenset()
    answer: Answer | None = None
    decided: frozenset[Question] = frozenset()
    """What any look has decided; it stays decided."""
    looks: list[dict[str, Any]] = field(default_factory=list)
    next_look: int = 0
    """The number of rounds after which the next look is due."""

    @property
    def asks(self) -> bool:
        """Return whether looks decide its question; a workload has many, and is measured until the time is over."""
        return not self.level_only and self.cells[0].workload is None

    @property
    def is_decided(self) -> bool:
        """Return whether further rounds would decide nothing."""
        if self.level_only:
            return self.rounds >= LEVEL_ROUNDS
        if self.is_alone:
            return self.rounds >= self.least
        return self.answer is not None and not self.open

    @property
    def open(self) -> frozenset[Question]:
        """Return the questions that no look has decided."""
        return self.answer.asked - self.decided if self.answer else frozenset()

    @property
    def spent_level(self) -> float:
        """Return the level that the looks so far have spent."""
        return float(sum(each["alpha"] for each in self.looks))

    def urgency(self) -> tuple[bool, float]:
        """Return the sort key that chooses the table of the next round: the smallest comes first.

        Tables have equal numbers of rounds, and those that show a level have theirs in between. A table that has as
        many rounds as the noise of its open pairs needs waits until the others have them too; then rounds are in
        proportion to that need. How large differences seem to be has no influence: to measure longer where cells seem
        to differ would find too many differences.
        """
        if self.level_only:
            return False, self.rounds * self.least / LEVEL_ROUNDS
        if self.answer is None:
            return False, float(self.rounds)
        needed = max(self.answer.needed_rounds or 0.0, EQUAL_ROUNDS)
        return (False, float(self.rounds)) if self.rounds < needed else (True, self.rounds / needed)

    def is_due(self, cell: Cell) -> bool:
        """Return whether a cell takes part in the next round, if it is still of interest."""
        return cell.id not in self.rare or self.next_number % REFERENCE_STEP == 0

    def share_of_rounds(self, cell: Cell) -> float:
        """Return the share of the rounds in which a cell takes part."""
        return 1 / REFERENCE_STEP if cell.id in self.rare else 1.0


def table_of(plan: Plan, until: str, group: str, cells: list[Cell]) -> Table:
    """Return a table without rounds."""
    level_only, least = all(shows_level(cell, plan) for cell in cells), least_rounds(plan.scenario)
    has_pairs = cells[0].workload is not None or sum(cell.comparison.ranked for cell in cells) > 1
    is_alone = UNITS.get(until) == "pairs" and not has_pairs
    rare = frozenset() if level_only else _rare(cells, until)
    every = frozenset(cell.id for cell in cells)
    return Table(group, cells, level_only, least, is_alone, rare, active=every, next_look=least)


def _rare(cells: list[Cell], until: str) -> frozenset[str]:
    """Return the references of a table, if its question is about pairs of choices alone."""
    chosen = {cell.id for cell in choices(cells)}
    is_special = any(cell.workload is not None or cell.comparison.counterpart for cell in cells)
    if UNITS.get(until) != "pairs" or len(chosen) < 2 or is_special:
        return frozenset()
    return frozenset(cell.id for cell in cells) - chosen
