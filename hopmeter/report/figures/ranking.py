"""The middle message of every row, with its interval: what may be told apart, at a glance."""

from __future__ import annotations

from typing import Any

import altair as alt

from hopmeter.report import folding, formatting, theme
from hopmeter.report.drawing import Figure, Style, framed, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.ranking import bounds
from hopmeter.report.source import Row

ORDER = 10
ROW = 26
"""Pixels a row takes."""


def draw(group: Group, style: Style) -> Figure | None:
    """Rows from fast to slow."""
    rows = group.measured
    ends = span(value for row in rows for value in (row.p50, row.figure("p99"), *(bounds(row) or ())))
    if len(rows) < 2 or ends is None:
        return None
    return Figure(
        "ranking",
        "The middle message",
        "Dot: the median. Bar: its 95 % interval; rows whose bars overlap are not told apart. "
        "Small line: p99, where resolved.",
        _chart([_datum(group, row) for row in rows], rows, group, style, ends),
        "Medians with intervals, fastest first: "
        + ", ".join(f"{group.label(row)} {formatting.microseconds(row.p50)}" for row in rows),
    )


def _datum(group: Group, row: Row) -> dict[str, Any]:
    low, high = bounds(row) or (row.p50, row.p50)
    known = formatting.interval(*(bounds(row) or (None, None)))
    tip = f"{group.label(row)}: p50 {formatting.microseconds(row.p50)}" + (f", interval {known}" if known else "")
    return {
        "series": group.label(row),
        "p50": row.p50,
        "low": low,
        "high": high,
        "p99": row.figure("p99"),
        "tip": tip,
        "tip99": f"{group.label(row)}: p99 {formatting.microseconds(row.figure('p99'))}",
    }


def _chart(
    data: list[dict[str, Any]], rows: list[Row], group: Group, style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    names = [str(row["series"]) for row in data]
    longest = max(map(len, names))
    x: dict[str, Any] = log_axis(ends, "", 6 if longest < 16 else 5)
    y = alt.Y(
        "series:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelColor=theme.INK, labelPadding=8, domain=False, ticks=False, **folding.beside(names)),
    )
    colour = style.colour(group.named(rows))
    base = alt.Chart(table(data)).encode(y=y)
    tail = (
        base.transform_filter("datum.p99 != null")
        .mark_tick(size=9, thickness=1.5, opacity=0.75)
        .encode(x=alt.X("p99:Q"), color=colour, description="tip99:N")
    )
    reach = base.mark_bar(height=9, cornerRadius=2, opacity=0.35).encode(
        x=alt.X("low:Q", **x), x2="high:Q", color=colour, description="tip:N"
    )
    dot = base.mark_point(filled=True, size=62, opacity=1).encode(x=alt.X("p50:Q"), color=colour, description="tip:N")
    return framed(alt.layer(_rules(base), reach, tail, dot), folding.row(names, ROW) * len(rows))


def _rules(base: alt.Chart) -> Any:
    """A hair line that leads the eye from the name to its dot."""
    return base.mark_rule(color=theme.GRID)
