"""What a client waits beyond the work of its servers: a sentence for each scatter whose work was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hopmeter.report import formatting
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row

MOST_GROUPS, MOST_ROWS = 6, 8
"""Beyond so many the tables and *Over the ideal* are the better reading."""
WAYS = {"parallel": "all servers asked at once", "sequential": "one server asked after the other"}


@dataclass(frozen=True)
class Beyond:
    """A group whose rows have medians above the work."""

    group: Group
    rows: tuple[Row, ...]
    ambiguous: bool
    """Whether another group has the same work, asked for in the same way."""

    @property
    def sentence(self) -> str:
        """The median of each row, less the work."""
        first = self.rows[0]
        where = f" ({self.group.title})" if self.ambiguous else ""
        return (
            f"The median above {formatting.number(first['ideal_us'] / 1000)}{formatting.THIN}ms of work, "
            f"{_way(first)}{where}: "
            f"{', '.join(self._told)}."
        )

    @property
    def _told(self) -> list[str]:
        known = [f"{self._name(row)} {formatting.microseconds(row['excess_p50_us'])}" for row in self.rows]
        return known if len(known) <= MOST_ROWS else [*known[: MOST_ROWS - 2], "…", known[-1]]

    def _name(self, row: Row) -> str:
        return self.group.label(row) + ("" if row.candidate else " (the floor)" if row.is_floor else "")


def _way(row: Row) -> str:
    return WAYS[str(row["dispatch"])]


def beyond(found: Sequence[Group]) -> list[Beyond]:
    """All of them, in the order of the groups; none where there are too many to be told."""
    rows = {group.id: tuple(sorted(filter(_is_known, group.measured), key=_excess)) for group in found}
    works = [(each[0]["ideal_us"], each[0]["dispatch"]) for each in rows.values() if each]
    if len(works) > MOST_GROUPS:
        return []
    twice = len(set(works)) < len(works)
    return [Beyond(group, rows[group.id], twice) for group in found if rows[group.id]]


def _excess(row: Row) -> float:
    return float(row["excess_p50_us"])


def _is_known(row: Row) -> bool:
    return row["pattern"] == "scatter" and bool(row["ideal_us"]) and row["excess_p50_us"] is not None
