"""Order rows by comparing them round by round. Rows without common rounds are compared by their confidence
intervals."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.analysis.ranking.rounds import Comparison, TableRanking
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row


@dataclass(frozen=True)
class Rank:
    """A row with its best and worst possible rank, such as 1 and 3. The ranks are None if the row has no interval."""

    row: Row
    best: int | None
    worst: int | None
    ties: tuple[Row, ...]
    """The rows that do not differ significantly from this row."""
    alone: bool = False
    """Whether this row is the only row of its group."""

    @property
    def text(self) -> str:
        """The ranks as text: `1`, `1–3`, or empty."""
        if self.best is None or self.alone:
            return ""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def ranks(group: Group) -> list[Rank]:
    """Return the rank of each choice with a latency, fastest first, without references."""
    return [_rank(row, group.ranked_rows) for row in group.ranked_rows]


def _rank(row: Row, rows: list[Row]) -> Rank:
    others = [other for other in rows if other is not row]
    ties = tuple(other for other in others if not faster(row, other) and not faster(other, row))
    if row.bounds is None:
        return Rank(row, None, None, ties)
    best = 1 + sum(faster(other, row) for other in others)
    return Rank(row, best, len(rows) - sum(faster(row, other) for other in others), ties, alone=not others)


def faster(one: Row, other: Row) -> bool:
    """Return whether `one` is significantly faster than `other`. If the rows have no common rounds, `one` counts as
    faster only if the confidence intervals do not overlap."""
    if table := _common_table(one, other):
        return table.is_faster(one.id, other.id)
    here, there = one.bounds, other.bounds
    return here is not None and there is not None and here[1] < there[0]


def compare(one: Row, other: Row) -> Comparison | None:
    """Return the ratio of `other` to `one`, compared round by round, or None if they have no common rounds."""
    table = _common_table(one, other)
    return table.compare(one.id, other.id) if table else None


def _common_table(one: Row, other: Row) -> TableRanking | None:
    """Return the ranking that compares both rows round by round, or None if no ranking contains both rows."""
    table = one.run.rankings.get(one.cell.group) if one.run is other.run else None
    compared = table.ranking.cells if table else ()
    return table if one.id in compared and other.id in compared else None
