"""Where the messages lie: one ridge a row over the same logarithmic axis."""

from __future__ import annotations

from typing import Any

import altair as alt

from hopmeter.report import folding, formatting, shapes, theme
from hopmeter.report.drawing import Figure, Style, framed, log_axis, table
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row

ORDER = 30
ROW = 34
OVERLAP = 0.92
"""How much of its row the tallest bin fills."""


def draw(group: Group, style: Style) -> Figure | None:
    """Every ridge scaled to its own tallest bin: it shows shape and place, not number."""
    reaches = [(row, reach) for row in group.measured if (reach := shapes.bulk(row))]
    if not reaches:
        return None
    rows = [row for row, _ in reaches]
    ends = (min(low for _, (low, _) in reaches) / 1.3, max(high for _, (_, high) in reaches) * 1.3)
    return Figure(
        "distribution",
        "Where the messages lie",
        "Shape and place of each row, scaled to its own peak; "
        f"the slowest 0.5{formatting.THIN}% may lie further right.",
        _chart(
            [datum for place, row in enumerate(rows) for datum in _ridge(group, row, ends, len(rows) - 1 - place)],
            rows,
            group,
            style,
            ends,
        ),
        "Distributions; half of the messages within: "
        + ", ".join(f"{group.label(row)} {formatting.microseconds(row.p50)}" for row in rows),
    )


def _ridge(group: Group, row: Row, ends: tuple[float, float], floor: int) -> list[dict[str, Any]]:
    bins = shapes.distribution(row, ends)
    name = group.label(row)
    return [
        {"series": name, "us": (low * high) ** 0.5, "base": floor, "top": floor + OVERLAP * height, "tip": name}
        for low, high, height in bins
    ]


def _chart(
    data: list[dict[str, Any]], rows: list[Row], group: Group, style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    names = [group.label(row) for row in reversed(rows)]
    longest = max(map(len, names))
    x: dict[str, Any] = log_axis(ends, "", 6 if longest < 16 else 5)
    axis = alt.Axis(
        values=list(range(len(names))),
        **folding.beside(names, "value", above=1),
        title=None,
        grid=True,
        labelColor=theme.INK,
        labelBaseline="bottom",
        labelPadding=8,
    )
    ridges = (
        alt.Chart(table(data))
        .mark_area(opacity=0.55, line={"strokeWidth": 1.2}, interpolate="monotone")
        .encode(
            x=alt.X("us:Q", **x),
            y=alt.Y("top:Q", scale=alt.Scale(domain=[0, len(names)], nice=False), axis=axis),
            y2="base:Q",
            color=style.colour(group.named(rows)),
            description="tip:N",
        )
    )
    return framed(ridges, folding.row(names, ROW) * len(names))
