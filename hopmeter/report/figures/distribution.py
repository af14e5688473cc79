"""The latency distribution: a ridge for each row over a common logarithmic axis."""

from __future__ import annotations

from typing import Any

import altair as alt

from hopmeter.analysis.results.distributions import bulk, histogram
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing import folding, theme
from hopmeter.report.drawing.charts import Data, Ends, Figure, Style, frame, log_axis, table
from hopmeter.report.words import formatting

ORDER = 30
ROW = 34
OVERLAP = 0.92
"""The height of the tallest bin as a fraction of the row height."""


def draw(group: Group, style: Style) -> Figure | None:
    """Return the figure, or None if there is no data. Each ridge is scaled to its own tallest bin, so ridge heights do
    not show the numbers of messages."""
    ranges = [(row, known) for row in group.measured_rows if (known := bulk(row))]
    if not ranges:
        return None
    named = group.rows_by_name(row for row, _ in ranges)
    ends = (min(low for _, (low, _) in ranges) / 1.3, max(high for _, (_, high) in ranges) * 1.3)
    return Figure(
        "distribution",
        "Distribution",
        "The distribution of the latencies of the messages that arrived. Each row is scaled to its own peak; the "
        f"slowest 0.5{formatting.THIN}% of the messages may be outside the figure.",
        _chart(named, style, ends),
        "Distributions; the medians are: "
        + ", ".join(f"{name} {formatting.microseconds(row.p50)}" for name, row in named.items()),
    )


def _ridge(name: str, row: Row, ends: Ends, floor: int) -> Data:
    return [
        {"series": name, "us": (low * high) ** 0.5, "base": floor, "top": floor + OVERLAP * height, "tip": name}
        for low, high, height in histogram(row, ends)
    ]


def _chart(named: dict[str, Row], style: Style, ends: Ends) -> alt.TopLevelMixin:
    names = list(reversed(named))
    data = [datum for floor, name in enumerate(names) for datum in _ridge(name, named[name], ends, floor)]
    x: dict[str, Any] = log_axis(ends, "", 6 if max(map(len, names)) < 16 else 5)
    axis = alt.Axis(
        values=list(range(len(names))),
        **folding.axis_labels(names, "value", above=1),
        title=None,
        grid=True,
        labelColor=theme.INK,
        labelBaseline="bottom",
        labelPadding=8,
    )
    areas = alt.Chart(table(data)).mark_area(opacity=0.55, line={"strokeWidth": 1.2}, interpolate="monotone")
    ridges = areas.encode(
        x=alt.X("us:Q", **x),
        y=alt.Y("top:Q", scale=alt.Scale(domain=[0, len(names)], nice=False), axis=axis),
        y2=alt.Y2("base:Q"),
        color=style.colour(named),
        description=alt.Description("tip:N"),
    )
    return frame(ridges, folding.row_height(names, ROW) * len(names))
