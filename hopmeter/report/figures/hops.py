"""Latency at each hop of a chain, to show whether a single hop or the whole chain is slow."""

from __future__ import annotations

import altair as alt

from hopmeter.analysis.results.distributions import hop_percentiles
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing.charts import Data, Ends, Figure, Style, frame, legend, log_axis, span, table
from hopmeter.report.words import formatting

ORDER = 60
HEIGHT = 230
Hops = list[tuple[int, float, float]]


def draw(group: Group, style: Style) -> Figure | None:
    """Return the figure with the median at each hop, or None if the group is not a chain."""
    if not group.conditions["relays"]:
        return None
    found = [(row, hops) for row in group.measured_rows if len(hops := hop_percentiles(row)) > 1]
    ends = span((value for _, hops in found for _, p50, p90 in hops for value in (p50, p90)), margin=1.3)
    if ends is None:
        return None
    words = (
        f"{group.label(row)} {formatting.number(hops[0][1])} and {formatting.number(hops[-1][1])} µs"
        for row, hops in found
    )
    return Figure(
        "hops",
        "Latency of each hop",
        "Line: the median of each hop, from sending at one endpoint to arrival at the next. Shade: from the median to "
        "p90.",
        _chart(
            [datum for row, hops in found for datum in _data(group.label(row), hops)],
            group.rows_by_name(row for row, _ in found),
            style,
            ends,
        ),
        f"Medians of the first and the last hop: {', '.join(words)}",
    )


def _data(name: str, hops: Hops) -> Data:
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


def _chart(data: Data, named: dict[str, Row], style: Style, ends: Ends) -> alt.TopLevelMixin:
    shown = legend(list(named))
    last = max(datum["hop"] for datum in data)
    every = max(1, round(last / 8))
    marked = [1, *range(every * 2 if every > 1 else 2, last + 1, every)]
    scale = alt.Scale(domain=[1, last], nice=False, padding=6)
    x = alt.X("hop:Q", scale=scale, axis=alt.Axis(values=marked, title="hop", format="d"))
    y = alt.Y("p50:Q", **log_axis(ends, "", 7))
    base = alt.Chart(table(data)).encode(
        x=x, y=y, color=style.colour(named, shown), description=alt.Description("tip:N")
    )
    line = base.mark_line().encode(strokeDash=style.dash(named, shown))
    return frame(alt.layer(base.mark_area(opacity=0.15).encode(y2=alt.Y2("p90:Q")), line), HEIGHT)
