"""Latency against CPU: fast is often expensive, and the Pareto front says which rows nothing beats in both."""

from __future__ import annotations

from typing import Any

import altair as alt

from hopmeter.report import theme, words
from hopmeter.report.drawing import PLAIN, Figure, Style, framed, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.labels import Label, Plot, place
from hopmeter.report.ranking import bounds
from hopmeter.report.source import Row

ORDER = 50
HEIGHT = 260


def draw(group: Group, style: Style) -> Figure | None:
    """One dot a row: to the left is cheap, below is fast."""
    rows = [row for row in group.measured if (row["cpu_us_per_message"] or 0) > 0]
    x = span((row["cpu_us_per_message"] for row in rows), margin=1.6)
    y = span((value for row in rows for value in (row.p50, *(bounds(row) or ()))), margin=1.4)
    if len(rows) < 2 or x is None or y is None:
        return None
    best = front(rows)
    return Figure(
        "cpu",
        "Latency against CPU",
        "All processes together, user and system time. No row is both faster and cheaper than one on the dashed line.",
        _chart(rows, best, group, style, Plot(x, y, theme.WIDTH - 60, HEIGHT)),
        "On the Pareto front: "
        + ", ".join(
            f"{group.label(row)} ({words.microseconds(row.p50)}, {words.number(row['cpu_us_per_message'])} µs of CPU)"
            for row in best
        ),
    )


def front(rows: list[Row]) -> list[Row]:
    """The rows that no other beats in both, from cheap to fast."""
    best: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["cpu_us_per_message"], row.p50)):
        if not best or (row.p50 or 0) < (best[-1].p50 or 0):
            best.append(row)
    return best


def _datum(group: Group, row: Row) -> dict[str, Any]:
    low, high = bounds(row) or (row.p50, row.p50)
    cpu = row["cpu_us_per_message"]
    tip = f"{group.label(row)}: p50 {words.microseconds(row.p50)}, {words.number(cpu)} µs of CPU per message"
    return {"series": group.label(row), "cpu": cpu, "us": row.p50, "low": low, "high": high, "tip": tip}


def _chart(rows: list[Row], best: list[Row], group: Group, style: Style, plot: Plot) -> alt.TopLevelMixin:
    x: dict[str, Any] = log_axis(plot.x, "CPU per message, µs", 6, PLAIN)
    y: dict[str, Any] = log_axis(plot.y, "", 7)
    colour = style.colour(group.named(rows))
    base = alt.Chart(table([_datum(group, row) for row in rows])).encode(
        x=alt.X("cpu:Q", **x), color=colour, description="tip:N"
    )
    reach = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y=alt.Y("low:Q", **y), y2="high:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(y="us:Q")
    halos, names = _names(rows, group, plot)
    return framed(alt.layer(_front(best, plot), reach, *halos, dots, *names), HEIGHT)


def _front(best: list[Row], plot: Plot) -> Any:
    """From edge to edge: whatever lies above or to the right of it is beaten by a row on it."""
    corners = [{"cpu": row["cpu_us_per_message"], "us": row.p50} for row in best]
    data = [{"cpu": corners[0]["cpu"], "us": plot.y[1]}, *corners, {"cpu": plot.x[1], "us": corners[-1]["us"]}]
    return (
        alt.Chart(table(data))
        .mark_line(interpolate="step-after", strokeDash=[3, 3], strokeWidth=1.2, color=theme.SOFT)
        .encode(x="cpu:Q", y="us:Q")
    )


def _names(rows: list[Row], group: Group, plot: Plot) -> tuple[list[Any], list[Any]]:
    """Names beside their dots, where there is room for them, and what lies below the dots: a halo of each in the colour
    of the paper, so that no line runs through the letters."""
    dots = [(group.label(row), float(row["cpu_us_per_message"]), row.p50 or 0.0) for row in rows]
    labels = place(dots, plot)
    return [_name(label, stroke=theme.PAPER, strokeWidth=4) for label in labels], [_name(label) for label in labels]


def _name(label: Label, **halo: Any) -> Any:
    mark = alt.Chart(table([{"cpu": label.x, "us": label.y, "name": label.text}])).mark_text(
        align=label.align, baseline="middle", dx=label.dx, dy=label.dy, aria=False, **halo
    )
    return mark.encode(x="cpu:Q", y="us:Q", text="name:N")
