"""Latency against CPU. The rows on the Pareto front are the best trade-offs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import PLAIN, Figure, Style, fit_legend, frame, log_axis, span, table
from hopmeter.report.drawing.label_placement import Label, Plot, place
from hopmeter.report.words import formatting

ORDER = 50
HEIGHT = 260
MOST = 40
"""If there are more unlabelled rows than this number, only rows on the Pareto front get names."""
CAPTION = (
    "CPU: user and system time of all processes. The dashed line is the Pareto front: no row is both faster and "
    "cheaper than a row on this line."
)


def draw(group: Group, style: Style) -> Figure | None:
    """Return a figure with a dot for each row. A dot further left represents a row that uses less CPU time, and a lower
    dot represents a faster row. First messages and recoveries have no such figure."""
    if group.measures_moments:
        return None
    rows = [row for row in group.measured_rows if (row["cpu_us_per_message"] or 0) > 0]
    x = span((row["cpu_us_per_message"] for row in rows), margin=1.6)
    y = span((value for row in rows for value in (row.p50, *(row.bounds or ()))), margin=1.4)
    if len(rows) < 2 or x is None or y is None:
        return None
    best = front(rows)
    plot = Plot(x, y, theme.WIDTH - 60, HEIGHT)
    names = choose_names(rows, best, group, plot)
    return Figure(
        "cpu",
        "Latency against CPU",
        f"{CAPTION} {names.caption}".strip(),
        _chart(rows, best, group, style, plot, names),
        "On the Pareto front: "
        + ", ".join(
            f"{group.label(row)} ({formatting.microseconds(row.p50)}, "
            f"{formatting.number(row['cpu_us_per_message'])} µs of CPU)"
            for row in best
        ),
    )


def front(rows: list[Row]) -> list[Row]:
    """Return the Pareto front in order of increasing CPU use: the rows that no other row beats in both CPU use and
    latency."""
    best: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["cpu_us_per_message"], row.p50)):
        if not best or (row.p50 or 0) < (best[-1].p50 or 0):
            best.append(row)
    return best


@dataclass(frozen=True)
class Names:
    """The dot labels, the legend of numbered rows, and a caption sentence on the labels."""

    labels: list[Label]
    numbered: dict[str, str]
    caption: str


def choose_names(rows: list[Row], best: list[Row], group: Group, plot: Plot) -> Names:
    """Return names for all dots if the names fit. If the names do not fit, name the rows on the Pareto front where
    possible, and number all other dots."""
    labels = place([_dot(group.label(row), row) for row in rows], plot)
    if not any(label.covers for label in labels):
        return Names(labels, {}, "")
    on_front = [_dot(group.label(row), row) for row in best]
    known = {label.text for label in place(on_front, plot) if not label.covers}
    others = [row for row in rows if group.label(row) not in known]
    if len(others) > MOST:
        return Names(place(on_front, plot), {}, "Only the rows on the line are named.")
    on_front = [dot for dot in on_front if dot[0] in known]
    numbers = {group.label(row): str(number) for number, row in enumerate(others, 1)}
    dots = [_dot(numbers[group.label(row)], row) for row in others]
    legend = {name: f"{number}  {name}" for name, number in numbers.items()}
    return Names(place(on_front + dots, plot), legend, "The other rows are numbered from fast to slow.")


def _dot(text: str, row: Row) -> tuple[str, float, float]:
    return text, row.number("cpu_us_per_message"), row.p50 or 0.0


def _datum(group: Group, row: Row) -> dict[str, Any]:
    low, high = row.bounds or (row.p50, row.p50)
    cpu = row["cpu_us_per_message"]
    tip = f"{group.label(row)}: p50 {formatting.microseconds(row.p50)}, {formatting.number(cpu)} µs of CPU per message"
    return {"series": group.label(row), "cpu": cpu, "us": row.p50, "low": low, "high": high, "tip": tip}


def _legend(names: Sequence[str]) -> alt.Legend | None:
    """Return the legend that explains the numbers of the dots, or None if no dot has a number."""
    return fit_legend(names, values=list(names), orient="bottom", symbolType="circle", symbolSize=70) if names else None


def _chart(rows: list[Row], best: list[Row], group: Group, style: Style, plot: Plot, names: Names) -> alt.TopLevelMixin:
    x: dict[str, Any] = log_axis(plot.x, "CPU per message, µs", 6, PLAIN)
    y: dict[str, Any] = log_axis(plot.y, "", 7)
    series = {names.numbered.get(name, name): row for name, row in group.rows_by_name(rows).items()}
    colour = style.colour(series, _legend(list(names.numbered.values())))
    base = alt.Chart(table([_datum(group, row) | {"series": name} for name, row in series.items()])).encode(
        x=alt.X("cpu:Q", **x), color=colour, description=alt.Description("tip:N")
    )
    reach = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y=alt.Y("low:Q", **y), y2=alt.Y2("high:Q"))
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(y=alt.Y("us:Q"))
    alike: dict[tuple[Any, ...], list[Label]] = {}
    for label in names.labels:
        alike.setdefault((label.align, label.dx, label.dy), []).append(label)
    halos = [_names(labels, stroke=theme.PAPER, strokeWidth=4) for labels in alike.values()]
    leaders = [_leaders(names.labels, plot)] if any(label.leader(plot) for label in names.labels) else []
    below = [_front(best, plot), reach, *leaders, *halos]
    return frame(alt.layer(*below, dots, *map(_names, alike.values())), HEIGHT)


def _front(best: list[Row], plot: Plot) -> Any:
    """Return the Pareto front as a line across the plot. A row on the line beats each row above the line or to the
    right of the line."""
    corners = [{"cpu": row["cpu_us_per_message"], "us": row.p50} for row in best]
    data = [{"cpu": corners[0]["cpu"], "us": plot.y[1]}, *corners, {"cpu": plot.x[1], "us": corners[-1]["us"]}]
    return (
        alt.Chart(table(data))
        .mark_line(interpolate="step-after", strokeDash=[3, 3], strokeWidth=1.2, color=theme.SOFT)
        .encode(x=alt.X("cpu:Q"), y=alt.Y("us:Q"))
    )


def _leaders(labels: Sequence[Label], plot: Plot) -> Any:
    """Return a line from each dot to its label, for labels that are not adjacent to their dots."""
    ends = [(label, end) for label in labels if (end := label.leader(plot))]
    data = [{"cpu": label.x, "us": label.y, "to": end[0], "up": end[1]} for label, end in ends]
    rule = alt.Chart(table(data)).mark_rule(strokeWidth=0.8, color=theme.SOFT, aria=False)
    return rule.encode(x=alt.X("cpu:Q"), y=alt.Y("us:Q"), x2=alt.X2("to:Q"), y2=alt.Y2("up:Q"))


def _names(alike: Sequence[Label], **halo: Any) -> Any:
    """Return text marks for labels that share one offset from their dots. With `halo`, return only the outlines, which
    are drawn behind the labels."""
    first = alike[0]
    mark = alt.Chart(table([{"cpu": each.x, "us": each.y, "name": each.text} for each in alike])).mark_text(
        align=first.align, baseline="middle", dx=first.dx, dy=first.dy, aria=False, **halo
    )
    return mark.encode(x=alt.X("cpu:Q"), y=alt.Y("us:Q"), text=alt.Text("name:N"))
