"""Latency over time in each trial: the median and the slowest message of each time interval."""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt

from hopmeter.analysis.results.distributions import Stretch, latency_over_time
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import LATENCY, Data, Ends, Figure, Style, span, table, ticks
from hopmeter.report.words import formatting

ORDER = 40
ROW = 50
AXIS_ROOM = 66
"""The width of the latency axis in pixels."""
GAP = 0.06
"""The gap between two trials, as a fraction of the longest trial."""


def draw(group: Group, style: Style) -> Figure | None:
    """Return a narrow strip for each row, with common axes, or None if there is no data."""
    strips = [(row, stretches) for row in group.measured_rows if (stretches := latency_over_time(row))]
    every = [stretch for _, stretches in strips for stretch in stretches]
    ends = span(value for stretch in every for value in (stretch.p50_us, stretch.worst_us))
    if ends is None:
        return None
    longest = max(stretch.at_s for stretch in every) or 1.0
    trials = sorted({stretch.trial for stretch in every})
    data = [datum for row, own in strips for datum in _strip(group.label(row), own, trials, longest * (1 + GAP))]
    return Figure(
        "course",
        "Latency over time",
        "The trials, from left to right in the order in which they ran. Line: the median of each interval. Shade: "
        "from the median to the slowest message that arrived. A spike is a stall, a slope is a drift; a gap is an "
        "interval in which half of the messages or more were lost.",
        _chart(data, _axis(trials, longest), group.rows_by_name(row for row, _ in strips), style, ends),
        f"Latency over time of {formatting.plural(len(strips), 'row')} in each trial.",
    )


def _strip(name: str, stretches: Sequence[Stretch], trials: Sequence[int], stride: float) -> Data:
    return [
        {
            "series": name,
            "trial": each.trial,
            "at": trials.index(each.trial) + each.at_s / stride,
            "p50": each.p50_us,
            "worst": each.worst_us,
            "tip": f"{name}, trial {each.trial}",
        }
        for each in stretches
    ]


def _axis(trials: Sequence[int], longest: float) -> alt.X:
    """Return an axis with a label under the middle of each trial."""
    names = {str(place): str(trial) for place, trial in enumerate(trials)}
    seconds = f"{formatting.number(longest, 2)} s"
    axis = alt.Axis(
        values=[place + 0.5 / (1 + GAP) for place in range(len(trials))],
        labelExpr=f"{json.dumps(names)}[toString(floor(datum.value))]",
        ticks=False,
        domain=False,
        title=f"trial, {seconds} each" if len(trials) > 1 else f"one trial, {seconds}",
    )
    return alt.X("at:Q", axis=axis, scale=alt.Scale(nice=False, domain=[0, len(trials)]))


def _chart(data: Data, x: alt.X, named: dict[str, Row], style: Style, ends: Ends) -> alt.TopLevelMixin:
    axis = alt.Axis(values=ticks(*ends, 3), labelExpr=LATENCY, title=None)
    y = alt.Y("p50:Q", scale=alt.Scale(type="log", domain=list(ends), nice=False), axis=axis)
    base = alt.Chart().encode(
        x=x, y=y, color=style.colour(named), detail=alt.Detail("trial:N"), description=alt.Description("tip:N")
    )
    shade, line = base.mark_area(opacity=0.25).encode(y2=alt.Y2("worst:Q")), base.mark_line(strokeWidth=1.5)
    header = alt.Header(labelOrient="top", labelAnchor="start", labelFontWeight="normal", title=None, labelPadding=4)
    return (
        alt.layer(shade, line, data=table(data))
        .properties(width=theme.WIDTH - AXIS_ROOM, height=ROW)
        .facet(row=alt.Row("series:N", sort=list(named), header=header), spacing=6)
    )
