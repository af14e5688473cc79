"""Sink by sink: how long a message takes to each of those that receive it, and to all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hopmeter.model.cell import waits_of
from hopmeter.report import formatting, theme
from hopmeter.report.drawing import Figure, Style, framed, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row

ORDER = 63
ROW = 17
ALL = "all"
SHAPE = alt.condition(f"datum.who == '{ALL}'", alt.value("diamond"), alt.value("circle"))


@dataclass(frozen=True)
class Mark:
    """What one sink of a row took, or all of them; times in µs."""

    row: Row
    series: str
    who: str
    p50: float
    mean: float | None
    p99: float | None

    @property
    def said(self) -> str:
        """`sink 1 (callback) p50 0.4 µs, mean 0.5 µs`."""
        known = {"p50": self.p50, "mean": self.mean, "p99": self.p99}
        return f"{self.who} " + ", ".join(f"{name} {formatting.microseconds(us)}" for name, us in known.items() if us)


def draw(group: Group, style: Style) -> Figure | None:
    """A line for each sink of each row, and one for all of them; nothing where all sinks do the same."""
    if not _differ(group):
        return None
    marks = [mark for row in group.measured for mark in _marks(group, row)]
    ends = span((us for mark in marks for us in (mark.p50, mark.mean, mark.p99)), margin=1.06)
    if ends is None:
        return None
    return Figure(
        "sinks",
        "Sink by sink",
        "Dot: the median from sending to the arrival at each sink; ring: the mean; small line: p99, where resolved. "
        "Diamond: the median until all sinks have the message.",
        _chart(marks, group, style, ends),
        "; ".join(f"{mark.series}: {mark.said}" for mark in marks),
    )


def _differ(group: Group) -> bool:
    return "+" in str(group.conditions["wait"]) or "/" in str(group.conditions["work"])


def _marks(group: Group, row: Row) -> Iterator[Mark]:
    series = group.label(row)
    p50s = row["sinks_service_p50_us"] or []
    means, tails = (row[f"sinks_service_{each}_us"] or [None] * len(p50s) for each in ("mean", "p99"))
    for number, (p50, mean, p99) in enumerate(zip(p50s, means, tails, strict=True)):
        if p50 is not None:
            yield Mark(row, series, _who(row, number), p50, mean, p99)
    if p50s and row["service_p50_us"] is not None:
        yield Mark(row, series, ALL, row["service_p50_us"], row["service_mean_us"], row["service_p99_us"])


def _who(row: Row, number: int) -> str:
    """Its place, and how it waits where that is not the same for all."""
    waits = waits_of(str(row["wait"]))
    return f"sink {number + 1}" + (f" ({waits[number]})" if len(waits) > 1 else "")


def _chart(marks: Sequence[Mark], group: Group, style: Style, ends: tuple[float, float]) -> alt.TopLevelMixin:
    several = len({mark.series for mark in marks}) > 1
    data = [
        {
            "series": mark.series,
            "who": mark.who,
            "p50": mark.p50,
            "mean": mark.mean,
            "p99": mark.p99,
            "name": f"{mark.series}, {mark.who}" if several else mark.who,
            "tip": f"{mark.series}, {mark.said}",
        }
        for mark in marks
    ]
    colour = style.colour(group.named(mark.row for mark in marks))
    y = alt.Y("name:N", sort=None, axis=alt.Axis(title=None, labelColor=theme.INK, labelLimit=400))
    base = alt.Chart(table(data)).encode(y=y, color=colour, description="tip:N")
    return framed(alt.layer(*_layers(base, log_axis(ends, "", 5))), ROW * (len(marks) + 1.4))


def _layers(base: alt.Chart, scale: dict[str, Any]) -> Iterator[alt.Chart]:
    scale["axis"].grid = True
    tails = base.transform_filter("datum.p99 != null")
    yield tails.mark_rule(strokeWidth=1.2, opacity=0.6).encode(x=alt.X("p50:Q", **scale), x2="p99:Q")
    yield tails.mark_tick(size=8, thickness=1.5).encode(x="p99:Q")
    means = base.transform_filter("datum.mean != null")
    yield means.mark_point(filled=False, size=56, strokeWidth=1.2, opacity=1).encode(x="mean:Q")
    yield base.mark_point(filled=True, size=52, opacity=1).encode(x="p50:Q", shape=SHAPE)
