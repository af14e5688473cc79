"""The overhead of calling several servers: the time until all replies arrive minus the servers' own work."""

from __future__ import annotations

from typing import Any

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing.charts import Figure, Style, dot_rows, span
from hopmeter.report.drawing.scatter_servers import scatter_rows
from hopmeter.report.words import formatting

ORDER = 62


def draw(group: Group, style: Style) -> Figure | None:
    """Return a figure of how long each row waits for its servers. One value excludes the time for which the servers
    held the request; another value excludes the requested work. Return None if there is no data."""
    rows = [one.row for one in scatter_rows(group) if one.row["overhead_p50_us"] is not None]
    columns = ("p50", "p50_low", "p50_high", "p99")
    ends = span([row.get(f"{name}_{each}_us") for row in rows for name in ("overhead", "excess") for each in columns])
    if ends is None:
        return None
    return Figure(
        "overhead",
        "Overhead of the calls",
        "Dot: the median wait for all servers minus the time for which the servers held the request, with its 95 % "
        "interval. Small line: p99, if there are enough messages. Ring: the median wait minus the requested work; this "
        "value includes late wake-ups of the servers.",
        dot_rows([_datum(group.label(row), row) for row in rows], group.rows_by_name(rows), style, ends),
        "Overhead at the median: " + ", ".join(f"{group.label(row)} {_words(row)}" for row in rows),
    )


def _words(row: Row) -> str:
    excess = row["excess_p50_us"]
    beyond = "" if excess is None else f" ({formatting.microseconds(excess)} beyond the requested work)"
    return f"{formatting.microseconds(row['overhead_p50_us'])}{beyond}"


def _datum(name: str, row: Row) -> dict[str, Any]:
    p50 = row["overhead_p50_us"]
    low, high = (row.get(f"overhead_p50_{end}_us") for end in ("low", "high"))
    return {
        "series": name,
        "p50": p50,
        "low": p50 if low is None else low,
        "high": p50 if high is None else high,
        "p99": row["overhead_p99_us"],
        "ring": row["excess_p50_us"],
        "tip": f"{name}: {_words(row)}",
        "tip99": f"{name}: p99 {formatting.microseconds(row['overhead_p99_us'])}",
    }
