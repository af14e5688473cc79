"""Who is before whom, as far as the intervals resolve it."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.report.grouping import Group
from hopmeter.report.source import Row


@dataclass(frozen=True)
class Place:
    """A row and the places it may take: `1 to 3` where intervals overlap, None where it has no interval."""

    row: Row
    best: int | None
    worst: int | None
    ties: tuple[Row, ...]
    """The rows it cannot be told apart from."""
    alone: bool = False
    """There is nothing to be before or behind of."""

    @property
    def text(self) -> str:
        """`1`, `1–3`, or nothing."""
        if self.best is None or self.alone:
            return ""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def places(group: Group) -> list[Place]:
    """Every candidate with a latency, fastest first."""
    return [_place(row, group.ranked) for row in group.ranked]


def _place(row: Row, rows: list[Row]) -> Place:
    others = [other for other in rows if other is not row]
    ties = tuple(other for other in others if not faster(row, other) and not faster(other, row))
    if bounds(row) is None:
        return Place(row, None, None, ties)
    best = 1 + sum(faster(other, row) for other in others)
    return Place(row, best, best + len(ties), ties, alone=not others)


def bounds(row: Row) -> tuple[float, float] | None:
    """The 95 % interval of the middle message; None where there were too few good trials for one."""
    low, high = row.figure("p50_low"), row.figure("p50_high")
    return None if low is None or high is None else (low, high)


def faster(one: Row, other: Row) -> bool:
    """Whether it is resolved that `one` is before `other`: only where both have intervals and these do not touch."""
    here, there = bounds(one), bounds(other)
    return here is not None and there is not None and here[1] < there[0]
