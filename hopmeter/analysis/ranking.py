"""The order of rows, as far as their intervals determine it."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.analysis.groups import Group
from hopmeter.analysis.run_results import Row


@dataclass(frozen=True)
class Rank:
    """A row and its ranks: `1 to 3` if intervals overlap, None if it has no interval."""

    row: Row
    best: int | None
    worst: int | None
    ties: tuple[Row, ...]
    """The rows that do not differ significantly from it."""
    alone: bool = False
    """The group has no other row."""

    @property
    def text(self) -> str:
        """`1`, `1–3`, or empty."""
        if self.best is None or self.alone:
            return ""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def ranks(group: Group) -> list[Rank]:
    """Return every candidate with a latency, fastest first."""
    return [_rank(row, group.ranked_rows) for row in group.ranked_rows]


def _rank(row: Row, rows: list[Row]) -> Rank:
    others = [other for other in rows if other is not row]
    ties = tuple(other for other in others if not faster(row, other) and not faster(other, row))
    if bounds(row) is None:
        return Rank(row, None, None, ties)
    best = 1 + sum(faster(other, row) for other in others)
    return Rank(row, best, best + len(ties), ties, alone=not others)


def bounds(row: Row) -> tuple[float, float] | None:
    """Return the 95 % interval of the median; None if there were too few good trials for one."""
    low, high = row.latency("p50_low"), row.latency("p50_high")
    return None if low is None or high is None else (low, high)


def faster(one: Row, other: Row) -> bool:
    """Whether `one` is significantly faster than `other`: both have intervals, and these do not touch."""
    here, there = bounds(one), bounds(other)
    return here is not None and there is not None and here[1] < there[0]
