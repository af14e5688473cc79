"""Latency over the run's time: trial beside trial, the middle and the worst message of every stretch."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from hopmeter.report import formatting, shapes, theme
from hopmeter.report.drawing import LATENCY, Figure, Style, span, table, ticks
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row

ORDER = 40
ROW = 50
AXIS_ROOM = 66
"""Pixels that the axis of latency takes off the width."""
GAP = 0.06
"""Between two trials, as a share of the longest."""


def draw(group: Group, style: Style) -> Figure | None:
    """A narrow strip a row, all on the same axes."""
    courses = [(row, moments) for row in group.measured if (moments := shapes.course(row))]
    ends = span(value for _, moments in courses for moment in moments for value in (moment.p50_us, moment.worst_us))
    if ends is None:
        return None
    rows = [row for row, _ in courses]
    longest = max(moment.at_s for _, moments in courses for moment in moments) or 1.0
    numbers = sorted({moment.trial for _, moments in courses for moment in moments})
    data = [datum for row, moments in courses for datum in _strip(group, row, moments, numbers, longest * (1 + GAP))]
    return Figure(
        "course",
        "Over the run's time",
        "Trials side by side, in the order they ran. Line: the median of each stretch; shade: up to its worst message. "
        "Stalls stand up, drifts lean.",
        _chart(data, _axis(numbers, longest), group.named(rows), style, ends),
        f"Latency over time of {len(rows)} rows, trial beside trial.",
    )


def _strip(
    group: Group, row: Row, moments: list[shapes.Moment], numbers: list[int], stride: float
) -> list[dict[str, Any]]:
    return [
        {
            "series": group.label(row),
            "trial": moment.trial,
            "at": numbers.index(moment.trial) + moment.at_s / stride,
            "p50": moment.p50_us,
            "worst": moment.worst_us,
            "tip": f"{group.label(row)}, trial {moment.trial}",
        }
        for moment in moments
    ]


def _axis(numbers: list[int], longest: float) -> alt.X:
    """A tick under the middle of each trial."""
    middles = [place + 0.5 / (1 + GAP) for place in range(len(numbers))]
    names = dict(zip(map(str, range(len(numbers))), map(str, numbers), strict=True))
    axis = alt.Axis(
        values=middles,
        labelExpr=f"{json.dumps(names)}[toString(floor(datum.value))]",
        ticks=False,
        domain=False,
        title=f"trial, {formatting.number(longest, 2)} s each"
        if len(numbers) > 1
        else f"one trial, {formatting.number(longest, 2)} s",
    )
    return alt.X("at:Q", axis=axis, scale=alt.Scale(nice=False, domain=[0, len(numbers)]))


def _chart(
    data: list[dict[str, Any]], x: alt.X, named: dict[str, Row], style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    scale = alt.Scale(type="log", domain=list(ends), nice=False)
    y_axis = alt.Axis(values=ticks(*ends, 3), labelExpr=LATENCY, title=None)
    base = alt.Chart().encode(x=x, color=style.colour(named), detail="trial:N", description="tip:N")
    shade = base.mark_area(opacity=0.25).encode(y=alt.Y("p50:Q", scale=scale, axis=y_axis), y2="worst:Q")
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("p50:Q", scale=scale, axis=y_axis))
    header = alt.Header(labelOrient="top", labelAnchor="start", labelFontWeight="normal", title=None, labelPadding=4)
    return (
        alt.layer(shade, line, data=table(data))
        .properties(width=theme.WIDTH - AXIS_ROOM, height=ROW)
        .facet(row=alt.Row("series:N", sort=list(named), header=header), spacing=6)
    )
