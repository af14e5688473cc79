"""Every hop of a chain: whether one of them is slower than the others, and whether the chain gets slower on its way."""

from __future__ import annotations

from typing import Any

import altair as alt

from hopmeter.report import formatting, shapes
from hopmeter.report.drawing import Figure, Style, framed, legend, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row

ORDER = 60
HEIGHT = 230


def draw(group: Group, style: Style) -> Figure | None:
    """The middle message at each hop, for chains only."""
    if not group.conditions["relays"]:
        return None
    found = [(row, hops) for row in group.measured if len(hops := shapes.hops(row)) > 1]
    ends = span((value for _, hops in found for _, p50, p90 in hops for value in (p50, p90)), margin=1.3)
    if ends is None:
        return None
    rows = [row for row, _ in found]
    data = [datum for row, hops in found for datum in _data(group, row, hops)]
    return Figure(
        "hops",
        "Hop by hop",
        "Line: the median at each hop, from leaving the one before to arrival; shade: up to p90.",
        _chart(data, rows, group, style, ends),
        "Medians of the first and the last hop: "
        + ", ".join(
            f"{group.label(row)} {formatting.number(hops[0][1])} and {formatting.number(hops[-1][1])} µs"
            for row, hops in found
        ),
    )


def _data(group: Group, row: Row, hops: list[tuple[int, float, float]]) -> list[dict[str, Any]]:
    name = group.label(row)
    return [
        {
            "series": name,
            "hop": hop,
            "p50": p50,
            "p90": p90,
            "tip": f"{name}, hop {hop}: {formatting.microseconds(p50)}",
        }
        for hop, p50, p90 in hops
    ]


def _chart(
    data: list[dict[str, Any]], rows: list[Row], group: Group, style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    shown = legend([group.label(row) for row in rows])
    last = max(datum["hop"] for datum in data)
    every = max(1, round(last / 8))
    x = alt.X(
        "hop:Q",
        scale=alt.Scale(domain=[1, last], nice=False, padding=6),
        axis=alt.Axis(values=[1, *range(every * 2 if every > 1 else 2, last + 1, every)], title="hop", format="d"),
    )
    y = alt.Y("p50:Q", **log_axis(ends, "", 7))
    base = alt.Chart(table(data)).encode(x=x, color=style.colour(group.named(rows), shown), description="tip:N")
    shade = base.mark_area(opacity=0.15).encode(y=y, y2="p90:Q")
    line = base.mark_line().encode(y=y, strokeDash=style.dash(group.named(rows), shown))
    return framed(alt.layer(shade, line), HEIGHT)
