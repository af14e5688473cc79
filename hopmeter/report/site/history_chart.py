"""The history chart of a cell: each run's median and p99, and the constant levels between detected changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from hopmeter.analysis.history.cell_history import Point, Series
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import Data, Ends, Figure, fit_legend, frame, log_axis, span, table
from hopmeter.report.words import formatting
from hopmeter.report.words.history_words import changes_in_words

HEIGHT = 190
DATES = 5
"""The maximum number of dates on the axis."""


def figure(name: str, title: str, series: Sequence[Series], runs: Sequence[Run]) -> Figure | None:
    """Return the history chart of one cell, or None if no value is positive. `runs` contains all runs on the machine
    that measured the cell."""
    ends = span((value for each in series for point in each.points for value in _values(point)), margin=1.3)
    if ends is None:
        return None
    return Figure(
        name,
        title,
        "; ".join(text for each in series for text in changes_in_words(each)) or "No significant change.",
        _chart(series, {id(run): place for place, run in enumerate(runs)}, ends),
        f"{title}: " + "; ".join(_in_words(each) for each in series),
    )


def _values(point: Point) -> list[float | None]:
    return [point.value, point.low, point.high]


def _in_words(series: Series) -> str:
    levels = ", then ".join(formatting.microseconds(level) for level in series.levels)
    return f"{series.metric} of {formatting.plural(len(series.points), 'run')}: {levels}"


def _chart(series: Sequence[Series], places: dict[int, int], ends: Ends) -> alt.TopLevelMixin:
    names = [each.metric for each in series]
    shades = alt.Scale(domain=names, range=list(theme.SERIES[: len(names)]))
    colour = alt.Color("series:N", scale=shades, sort=None, legend=fit_legend(names, symbolType="stroke"))
    y: dict[str, Any] = log_axis(ends, "", 6)
    points = alt.Chart(table([datum for each in series for datum in _points(each, places)])).encode(
        x=_x(series, places), color=colour, description=alt.Description("tip:N")
    )
    levels = alt.Chart(table([datum for each in series for datum in _levels(each, places)])).encode(color=colour)
    changes = alt.Chart(table([datum for each in series for datum in _changes(each, places)])).encode(color=colour)
    return frame(
        alt.layer(
            changes.mark_rule(strokeDash=[3, 3], strokeWidth=1.2).encode(
                x=alt.X("at:Q"), description=alt.Description("tip:N")
            ),
            points.mark_rule(strokeWidth=1.2, opacity=0.4).encode(y=alt.Y("low:Q", **y), y2=alt.Y2("high:Q")),
            levels.mark_rule(strokeWidth=2).encode(x=alt.X("at:Q"), x2=alt.X2("to:Q"), y=alt.Y("us:Q", **y)),
            points.mark_point(filled=True, size=22, opacity=1).encode(y=alt.Y("us:Q", **y)),
        ),
        HEIGHT,
    )


def _x(series: Sequence[Series], places: dict[int, int]) -> alt.X:
    """Return the horizontal axis, which labels some of the runs with their dates."""
    days = {str(places[id(point.run)]): _day(point) for each in series for point in each.points}
    known = sorted(map(int, days))
    shown = known[:: -(-len(known) // DATES)]
    axis = alt.Axis(values=shown, labelExpr=f"{json.dumps(days)}[toString(datum.value)] || ''", title="runs")
    return alt.X("at:Q", axis=axis, scale=alt.Scale(domain=[known[0] - 0.7, known[-1] + 0.7], nice=False))


def _day(point: Point) -> str:
    return point.run.text("started")[:10]


def _points(series: Series, places: dict[int, int]) -> Data:
    return [
        {
            "series": series.metric,
            "at": places[id(point.run)],
            "us": point.value,
            "low": point.value if point.low is None else point.low,
            "high": point.value if point.high is None else point.high,
            "tip": f"{point.run.name}: {series.metric} {formatting.microseconds(point.value)}",
        }
        for point in series.points
    ]


def _levels(series: Series, places: dict[int, int]) -> Data:
    return [
        {
            "series": series.metric,
            "at": places[id(stretch[0].run)] - 0.4,
            "to": places[id(stretch[-1].run)] + 0.4,
            "us": level,
        }
        for stretch, level in zip(series.stretches, series.levels, strict=True)
    ]


def _changes(series: Series, places: dict[int, int]) -> Data:
    return [
        {
            "series": series.metric,
            "at": places[id(series.points[change.index].run)] - 0.5,
            "tip": f"{series.metric}: {formatting.times(ratio)} since {series.points[change.index].run.name}",
        }
        for change, ratio in zip(series.changes, series.ratios, strict=True)
    ]
