"""Figure of the median and interval of each row."""

from __future__ import annotations

from typing import Any

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing.charts import Figure, Style, dot_rows, span
from hopmeter.report.words import formatting

ORDER = 10


def draw(group: Group, style: Style) -> Figure | None:
    """Return the figure with the fastest row first, or None for fewer than two rows."""
    rows = group.measured_rows
    ends = span(value for row in rows for value in (row.p50, row.tail("p99"), *(row.bounds or ())))
    if len(rows) < 2 or ends is None:
        return None
    return Figure(
        "ranking",
        "Median latency",
        "Dot: the median. Bar: its 95 % interval. Small line: p99, if it has an interval. The ranks in the "
        "table, not the bars, show which rows differ significantly.",
        dot_rows([_datum(group.label(row), row) for row in rows], group.rows_by_name(rows), style, ends),
        "Medians, fastest first: "
        + ", ".join(f"{group.label(row)} {formatting.microseconds(row.p50)}" for row in rows),
    )


def _datum(name: str, row: Row) -> dict[str, Any]:
    low, high = row.bounds or (row.p50, row.p50)
    interval = f", interval {formatting.interval(low, high)}" if row.bounds else ""
    return {
        "series": name,
        "p50": row.p50,
        "low": low,
        "high": high,
        "p99": row.tail("p99"),
        "tip": f"{name}: p50 {formatting.microseconds(row.p50)}{interval}",
        "tip99": f"{name}: p99 {formatting.microseconds(row.tail('p99'))}",
    }
