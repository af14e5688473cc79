"""Objects of many frameworks over many transports: a notched box for each, of the receiver alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from hopmeter.report import codecs, formatting
from hopmeter.report.codecs import Stand
from hopmeter.report.drawing import PLAIN, Figure, Style, framed, legend, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.ranking import bounds

ORDER = 1
THICK, WAIST = 0.36, 0.17
"""Half of a box, and of it where it is notched."""
UNIT = 1000.0
"""Microseconds of a millisecond, in which the study draws."""
CAPTION = (
    "Of each message the time until its object is whole at the receiver. Box: the middle half; notch: the 95 % "
    "interval of the median, which folds back where it is wider than the box; whiskers: what lies within 1.5 boxes; "
    "dots: some of the messages beyond, the last always. Rows that could not keep up are left out."
)


def across(groups: Sequence[Group], style: Style) -> Iterator[Figure]:
    """A figure for every set of conditions under which objects were encoded."""
    for number, family in enumerate(codecs.encoded(groups), 1):
        if placed := codecs.placed(family):
            yield Figure(
                f"across-codecs-{number}",
                "Codec by codec",
                f"{CAPTION}{_on_gpu(placed)} Conditions: {codecs.conditions(family)}.",
                chart(placed, style),
                "Medians: " + ", ".join(f"{each.name} {formatting.microseconds(each.box.p50)}" for each in placed),
            )


def _on_gpu(placed: Sequence[Stand]) -> str:
    times = codecs.on_gpu(placed)
    return f" On a GPU, as a multiple of the same in memory: {', '.join(times)}." if times else ""


def chart(placed: Sequence[Stand], style: Style) -> alt.TopLevelMixin:
    """The boxes, as wide as every other figure."""
    return framed(layers(placed, style), codecs.height(placed))


def layers(placed: Sequence[Stand], style: Style) -> alt.LayerChart | alt.FacetChart:
    """The boxes over a logarithmic axis."""
    named = {each.series: each.row for each in placed}
    shown = legend(list(named)) if len({each.codec for each in placed}) > 1 else None
    place: dict[str, Any] = {"x": _across(placed), "y": codecs.vertical(placed), "color": style.colour(named, shown)}
    whiskers = _base(_whiskers, placed).mark_rule(strokeWidth=1.2).encode(**place, x2="to:Q")
    boxes = (
        _base(_outline, placed)
        .mark_line(interpolate="linear-closed", strokeWidth=1.3, fillOpacity=0.3)
        .encode(**place, order="order:Q", detail="place:N")
        .encode(fill=style.colour(named, shown, alt.Fill), strokeDash=style.dash(named, shown))
    )
    beyond = _base(_beyond, placed).mark_point(filled=True, size=7, opacity=0.75).encode(**place)
    middles = _base(_middle, placed).mark_rule(strokeWidth=2).encode(**place, y2="to:Q")
    return alt.layer(beyond, whiskers, boxes, middles)


def _across(placed: Sequence[Stand]) -> alt.X:
    values = (
        value for each in placed for value in (each.box.low, each.box.high, *each.box.beyond, *(_notch(each) or ()))
    )
    scale: dict[str, Any] = log_axis(span(value / UNIT for value in values) or (1.0, 10.0), "ms", 7, PLAIN)
    scale["axis"].grid = True
    return alt.X("ms:Q", **scale)


def _base(marks: Any, placed: Sequence[Stand]) -> alt.Chart:
    return alt.Chart(table([datum for each in placed for datum in marks(each)])).encode(description="tip:N")


def _notch(each: Stand) -> tuple[float, float] | None:
    """The interval of the median; None where there were too few good trials for one."""
    return bounds(each.row)


def _datum(each: Stand, us: float, y: float, **more: Any) -> dict[str, Any]:
    known = _notch(each)
    tip = (
        f"{each.name}: p50 {formatting.microseconds(each.box.p50)}"
        + (f", interval {formatting.interval(*known)}" if known else "")
        + f", half within {formatting.interval(each.box.q1, each.box.q3)}"
    )
    return {"series": each.series, "place": each.place, "ms": us / UNIT, "y": y, "tip": tip, **more}


def _outline(each: Stand) -> list[dict[str, Any]]:
    """Around the box, in at the notch on both sides."""
    box, known = each.box, _notch(each)
    notch = [(known[0], THICK), (box.p50, WAIST), (known[1], THICK)] if known else []
    upper = [(box.q1, THICK), *notch, (box.q3, THICK)]
    around = [(us, -half) for us, half in upper] + list(reversed(upper))
    return [_datum(each, us, each.place + half, order=order) for order, (us, half) in enumerate(around)]


def _whiskers(each: Stand) -> list[dict[str, Any]]:
    box = each.box
    return [_datum(each, start, each.place, to=end / UNIT) for start, end in ((box.low, box.q1), (box.q3, box.high))]


def _middle(each: Stand) -> list[dict[str, Any]]:
    half = WAIST if _notch(each) else THICK
    return [_datum(each, each.box.p50, each.place - half, to=each.place + half)]


def _beyond(each: Stand) -> list[dict[str, Any]]:
    return [_datum(each, us, each.place) for us in each.box.beyond]
