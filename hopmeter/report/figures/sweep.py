"""Latency as a function of one condition: rate, size, relays, sinks or pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group, families
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing.charts import PLAIN, Figure, Style, frame, legend, log_axis, span, table
from hopmeter.report.words import conditions, formatting

ORDER = 70
HEIGHT = 260
STEPS = 3
"""The minimum number of values in a sweep."""
MARKED = 5
"""If a sweep has at most this many values, the axis shows a tick for each value."""
AXES = {
    "rate_hz": "messages per second",
    "payload_bytes": "payload, bytes",
    "relays": "relays",
    "sinks": "sinks",
    "pairs": "pairs at once",
}
TITLES = {
    "rate_hz": "Latency by rate",
    "payload_bytes": "Latency by payload size",
    "relays": "Latency by number of relays",
    "sinks": "Latency by number of sinks",
    "pairs": "Latency by number of pairs",
}


def across(groups: Sequence[Group], style: Style) -> Iterator[Figure]:
    """For each condition, yield a figure of the groups that differ only in this condition."""
    for axis in AXES:
        for number, family in enumerate(_families(groups, axis), 1):
            figure = _figure(axis, number, family, style)
            if figure is not None:
                yield figure


def _families(groups: Sequence[Group], axis: str) -> list[list[Group]]:
    """Return sets of groups that differ only in the condition `axis` and have at least STEPS different values of
    `axis`."""
    free = {axis, "payload"} if axis == "payload_bytes" else {axis}
    found = families((group for group in groups if group.conditions[axis] is not None), free)
    return [family for family in found if len({group.conditions[axis] for group in family}) >= STEPS]


def _figure(axis: str, number: int, family: list[Group], style: Style) -> Figure | None:
    pairs = [(group, row) for group in family for row in group.measured_rows if row.candidate]
    ends = span((value for _, row in pairs for value in (row.p50, *(row.bounds or ()))), margin=1.3)
    if ends is None:
        return None
    return Figure(
        f"sweep-{axis}-{number}".replace("_", "-"),
        TITLES[axis],
        f"The median and its 95 % interval. Conditions: {conditions.describe(family[0], axis)}. Rows that could not "
        "keep up are left out.",
        _chart(axis, pairs, style, ends),
        f"Medians by {AXES[axis]} for {formatting.plural(len({group.label(row) for group, row in pairs}), 'row')}.",
    )


def _datum(axis: str, group: Group, row: Row) -> dict[str, Any]:
    low, high = row.bounds or (row.p50, row.p50)
    name = group.label(row)
    return {
        "series": name,
        "at": float(group.conditions[axis]),
        "us": row.p50,
        "low": low,
        "high": high,
        "tip": f"{name}, {group.conditions[axis]:g}: {formatting.microseconds(row.p50)}",
    }


def _chart(axis: str, pairs: list[tuple[Group, Row]], style: Style, ends: tuple[float, float]) -> alt.TopLevelMixin:
    data = [_datum(axis, group, row) for group, row in pairs]
    named = {group.label(row): row for group, row in pairs}
    shown = legend(list(named))
    base = alt.Chart(table(data)).encode(
        x=_x(axis, [datum["at"] for datum in data]), description=alt.Description("tip:N")
    )
    y: dict[str, Any] = log_axis(ends, "", 7)
    colour = style.colour(named, shown)
    line = base.mark_line().encode(y=alt.Y("us:Q", **y), color=colour, strokeDash=style.dash(named, shown))
    reach = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(
        y=alt.Y("low:Q", **y), y2=alt.Y2("high:Q"), color=colour
    )
    dots = base.mark_point(filled=True, size=36, opacity=1).encode(y=alt.Y("us:Q", **y), color=colour)
    return frame(alt.layer(reach, line, dots), HEIGHT)


def _x(axis: str, values: list[float]) -> alt.X:
    """Return the horizontal axis. The axis is logarithmic if the values span at least a factor of 8 and exclude 0."""
    title, known = AXES[axis], sorted(set(values))
    if known[0] <= 0 or known[-1] / known[0] < 8:
        return alt.X(
            "at:Q", axis=alt.Axis(values=known, title=title), scale=alt.Scale(zero=False, nice=False, padding=14)
        )
    x: dict[str, Any] = log_axis((known[0] / 1.15, known[-1] * 1.15), title, 6, PLAIN)
    if len(known) <= MARKED:
        x["axis"].values = known
    return alt.X("at:Q", **x)
