"""What a client loses to the transport when it asks several servers: the wait for all of them less their own work."""

from __future__ import annotations

from typing import Any

import altair as alt

from hopmeter.report import folding, formatting, theme
from hopmeter.report.drawing import Figure, Style, framed, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.servers import asked
from hopmeter.report.source import Row

ORDER = 62
ROW = 26


def draw(group: Group, style: Style) -> Figure | None:
    """A line a row: over what the servers took, and over what they were asked to take."""
    rows = [one.row for one in asked(group) if one.row["overhead_p50_us"] is not None]
    columns = ("p50", "p50_low", "p50_high", "p99")
    ends = span([row[f"{name}_{each}_us"] for row in rows for name in ("overhead", "excess") for each in columns])
    if ends is None:
        return None
    return Figure(
        "overhead",
        "Over the ideal",
        "Dot: the median wait for all servers less the time that they held the request, with its 95 % interval; small "
        "line: p99, where resolved. Ring: the median less the work that was asked for, late sleepers and all.",
        _chart([_datum(group, row) for row in rows], rows, group, style, ends),
        "Overhead at the median: " + ", ".join(f"{group.label(row)} {_told(row)}" for row in rows),
    )


def _told(row: Row) -> str:
    over = row["excess_p50_us"]
    asked_for = "" if over is None else f" ({formatting.microseconds(over)} over the work that was asked for)"
    return f"{formatting.microseconds(row['overhead_p50_us'])}{asked_for}"


def _datum(group: Group, row: Row) -> dict[str, Any]:
    p50 = row["overhead_p50_us"]
    low, high = (row[f"overhead_p50_{end}_us"] for end in ("low", "high"))
    return {
        "series": group.label(row),
        "p50": p50,
        "low": p50 if low is None else low,
        "high": p50 if high is None else high,
        "p99": row["overhead_p99_us"],
        "excess": row["excess_p50_us"],
        "tip": f"{group.label(row)}: {_told(row)}",
    }


def _chart(
    data: list[dict[str, Any]], rows: list[Row], group: Group, style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    names = [str(row["series"]) for row in data]
    longest = max(map(len, names))
    x: dict[str, Any] = log_axis(ends, "", 6 if longest < 16 else 5)
    axis = alt.Axis(labelColor=theme.INK, labelPadding=8, domain=False, ticks=False, **folding.beside(names))
    base = alt.Chart(table(data)).encode(
        y=alt.Y("series:N", sort=None, title=None, axis=axis),
        color=style.colour(group.named(rows)),
        description="tip:N",
    )
    reach = base.mark_bar(height=9, cornerRadius=2, opacity=0.35).encode(x=alt.X("low:Q", **x), x2="high:Q")
    tail = base.transform_filter("datum.p99 != null").mark_tick(size=9, thickness=1.5, opacity=0.75).encode(x="p99:Q")
    over = base.transform_filter("datum.excess != null").mark_point(filled=False, size=62, strokeWidth=1.3, opacity=1)
    dots = base.mark_point(filled=True, size=52, opacity=1).encode(x="p50:Q")
    rules = alt.Chart(table(data)).mark_rule(color=theme.GRID).encode(y=alt.Y("series:N", sort=None))
    return framed(alt.layer(rules, reach, tail, over.encode(x="excess:Q"), dots), folding.row(names, ROW) * len(rows))
