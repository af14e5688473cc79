"""Sentences on a client's waiting time for its servers beyond the duration of the requested work."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.words import conditions, formatting

MOST_GROUPS, MOST_ROWS = 6, 8
"""If there are more groups or rows than this, no sentences are written. The tables and the figure *Overhead of the
calls* are then easier to read."""
WAYS = {"parallel": "with all servers called at once", "sequential": "with the servers called one after another"}


def work_sentences(groups: Sequence[Group]) -> list[str]:
    """Return a sentence for each group in which clients request work from servers. Return an empty list if too many
    groups request work."""
    found = [(group, sorted(filter(_is_known, group.measured_rows), key=_excess)) for group in groups]
    found = [(group, rows) for group, rows in found if rows]
    works = [(rows[0]["ideal_us"], rows[0]["dispatch"]) for _, rows in found]
    if len(works) > MOST_GROUPS:
        return []
    return [_sentence(group, rows, len(set(works)) < len(works)) for group, rows in found]


def _sentence(group: Group, rows: Sequence[Row], is_ambiguous: bool) -> str:
    """Return a sentence with each row's median waiting time minus the requested work. The sentence includes the group's
    title if another group requests an equal amount of work."""
    first = rows[0]
    title = f" ({conditions.title(group)})" if is_ambiguous else ""
    work = f"{formatting.number(first.number('ideal_us') / 1000)}{formatting.THIN}ms of work"
    medians = [f"{_name(group, row)} {formatting.microseconds(row['excess_p50_us'])}" for row in rows]
    medians = medians if len(medians) <= MOST_ROWS else [*medians[: MOST_ROWS - 2], "…", medians[-1]]
    return f"Median time beyond {work}, {WAYS[str(first['dispatch'])]}{title}: {', '.join(medians)}."


def _name(group: Group, row: Row) -> str:
    return group.label(row) + ("" if row.candidate else " (the floor)" if row.is_floor else "")


def _excess(row: Row) -> float:
    return row.number("excess_p50_us")


def _is_known(row: Row) -> bool:
    return row["pattern"] == "scatter" and bool(row["ideal_us"]) and row["excess_p50_us"] is not None
