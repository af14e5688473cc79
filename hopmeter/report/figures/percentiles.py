"""Percentile curves up to p99.9: both axes logarithmic, so that the tail is as long as it matters."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from hopmeter.analysis.percentiles import BEYOND
from hopmeter.report import formatting, shapes
from hopmeter.report.drawing import Figure, Style, framed, legend, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row

ORDER = 20
HEIGHT = 250
AXIS = alt.Axis(
    values=[math.log10(2), 1, 2, 3],
    title="share of messages that took no longer",
    grid=True,
    labelFlush=True,
    labelOverlap=False,
    labelExpr="datum.value < 0.9 ? '50 %' : datum.value < 1.5 ? '90 %' : datum.value < 2.5 ? '99 %' : '99.9 %'",
)


def draw(group: Group, style: Style) -> Figure | None:
    """One curve a row; it ends where the samples no longer resolve it."""
    curves = {id(row): shapes.curve(row) for row in group.measured}
    rows = [row for row in group.measured if curves[id(row)]]
    ends = span((latency for row in rows for _, latency in curves[id(row)]), margin=1.2)
    if ends is None:
        return None
    return Figure(
        "percentiles",
        "How long, for how many",
        f"A curve ends where fewer than {BEYOND} messages lie beyond it: "
        "nothing is drawn that the samples do not resolve.",
        _chart([datum for row in rows for datum in _data(group, row, curves[id(row)])], rows, group, style, ends),
        "Percentile curves; p99: "
        + ", ".join(f"{group.label(row)} {formatting.microseconds(row.figure('p99'))}" for row in rows),
    )


def _data(group: Group, row: Row, points: list[tuple[float, float]]) -> list[dict[str, Any]]:
    name = group.label(row)
    tip = f"{name}: " + ", ".join(
        f"{label} {formatting.microseconds(row.figure(column))}"
        for column, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))
        if row.figure(column) is not None
    )
    return [{"series": name, "nines": -math.log10(1 - share), "us": latency, "tip": tip} for share, latency in points]


def _chart(
    data: list[dict[str, Any]], rows: list[Row], group: Group, style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    shown = legend([group.label(row) for row in rows])
    y: dict[str, Any] = log_axis(ends, "", 8)
    curves = (
        alt.Chart(table(data))
        .mark_line()
        .encode(
            x=alt.X("nines:Q", scale=alt.Scale(domain=[0, 3], nice=False), axis=AXIS),
            y=alt.Y("us:Q", **y),
            color=style.colour(group.named(rows), shown),
            strokeDash=style.dash(group.named(rows), shown),
            description="tip:N",
        )
    )
    return framed(curves, HEIGHT)
