"""Percentile curves up to p99.9. Both axes are logarithmic, so that the tail is as visible as the median."""

from __future__ import annotations

import math

import altair as alt

from hopmeter.analysis.latency.percentiles import BEYOND
from hopmeter.analysis.results.distributions import percentile_curve
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing.charts import Data, Ends, Figure, Style, frame, legend, log_axis, span, table
from hopmeter.report.words import formatting

ORDER = 20
HEIGHT = 250
AXIS = alt.Axis(
    values=[math.log10(2), 1, 2, 3],
    title="share of messages that took at most this long",
    grid=True,
    labelFlush=True,
    labelOverlap=False,
    labelExpr="datum.value < 0.9 ? '50 %' : datum.value < 1.5 ? '90 %' : datum.value < 2.5 ? '99 %' : '99.9 %'",
)


def draw(group: Group, style: Style) -> Figure | None:
    """Return the figure with a curve for each row, or None if there is no data."""
    curves = [(row, curve) for row in group.measured_rows if (curve := percentile_curve(row))]
    ends = span((latency for _, curve in curves for _, latency in curve), margin=1.2)
    if ends is None:
        return None
    named = group.rows_by_name(row for row, _ in curves)
    data = [datum for row, curve in curves for datum in _data(group.label(row), row, curve)]
    return Figure(
        "percentiles",
        "Percentiles",
        f"A curve ends at the percentile above which there are fewer than {BEYOND} messages, because higher "
        "percentiles would be noise. Lost messages count as slower than all others, so a curve ends before their "
        "share.",
        _chart(data, named, style, ends),
        "Percentile curves; p99: " + ", ".join(f"{name} {_p99(row)}" for name, row in named.items()),
    )


def _p99(row: Row) -> str:
    return formatting.LOST if row.state("p99") == "lost" else formatting.microseconds(row.tail("p99"))


def _data(name: str, row: Row, curve: list[tuple[float, float]]) -> Data:
    known = (("p50", row.p50), ("p99", row.tail("p99")), ("p99.9", row.tail("p999")))
    tip = f"{name}: " + ", ".join(f"{label} {formatting.microseconds(us)}" for label, us in known if us is not None)
    return [{"series": name, "nines": -math.log10(1 - share), "us": latency, "tip": tip} for share, latency in curve]


def _chart(data: Data, named: dict[str, Row], style: Style, ends: Ends) -> alt.TopLevelMixin:
    shown = legend(list(named))
    curves = alt.Chart(table(data)).mark_line()
    return frame(
        curves.encode(
            x=alt.X("nines:Q", scale=alt.Scale(domain=[0, 3], nice=False), axis=AXIS),
            y=alt.Y("us:Q", **log_axis(ends, "", 8)),
            color=style.colour(named, shown),
            strokeDash=style.dash(named, shown),
            description=alt.Description("tip:N"),
        ),
        HEIGHT,
    )
