"""Notched box plots of codec latencies, for frameworks and transports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group
from hopmeter.report.drawing import codec_axis
from hopmeter.report.drawing.charts import PLAIN, Figure, Style, frame, legend, log_axis, span, table
from hopmeter.report.words import codec_rows, formatting
from hopmeter.report.words.codec_rows import PlacedBox

ORDER = 1
THICK, WAIST = 0.36, 0.17
"""Half the height of a box, and half its height at the notch, as fractions of the row height."""
UNIT = 1000.0
"""Microseconds per millisecond. The figures show times in milliseconds, as the published study of native objects
does."""
CAPTION = (
    "The time of each message until the receiver has the whole object. Box: the middle half of the messages. Notch: "
    "the 95 % interval of the median; a notch that is wider than the box folds back. Whiskers: the messages within "
    "1.5 box lengths of the box. Dots: a sample of the messages outside the whiskers, which includes the slowest. "
    "Rows that could not keep up are left out."
)


def across(groups: Sequence[Group], style: Style) -> Iterator[Figure]:
    """Yield a box figure for each set of conditions under which objects were encoded."""
    for number, family in enumerate(codec_rows.object_families(groups), 1):
        if placed := codec_rows.placed_rows(family):
            yield Figure(
                f"across-codecs-{number}",
                codec_rows.figure_title("Latency of each codec", family),
                f"{CAPTION}{_on_gpu(placed)} Conditions: {codec_rows.common_conditions(family)}.",
                chart(placed, style),
                "Medians: " + ", ".join(f"{each.name} {formatting.microseconds(each.box.p50)}" for each in placed),
            )


def _on_gpu(placed: Sequence[PlacedBox]) -> str:
    times = codec_rows.gpu_factors(placed)
    return f" Medians on a GPU, divided by the medians in host memory: {', '.join(times)}." if times else ""


def chart(placed: Sequence[PlacedBox], style: Style) -> alt.TopLevelMixin:
    """Return the box chart with the common figure width."""
    return frame(layers(placed, style), codec_rows.height(placed))


def layers(placed: Sequence[PlacedBox], style: Style) -> alt.LayerChart | alt.FacetChart:
    """Return the box chart layers over a logarithmic axis."""
    named = {each.series: each.row for each in placed}
    shown = legend(list(named)) if len({each.codec for each in placed}) > 1 else None
    place: dict[str, Any] = {
        "x": _across(placed),
        "y": codec_axis.vertical(placed),
        "color": style.colour(named, shown),
    }
    whiskers = _base(_whiskers, placed).mark_rule(strokeWidth=1.2).encode(**place, x2=alt.X2("to:Q"))
    boxes = (
        _base(_outline, placed)
        .mark_line(interpolate="linear-closed", strokeWidth=1.3, fillOpacity=0.3)
        .encode(**place, order=alt.Order("order:Q"), detail=alt.Detail("place:N"))
        .encode(fill=style.colour(named, shown, alt.Fill), strokeDash=style.dash(named, shown))
    )
    beyond = _base(_beyond, placed).mark_point(filled=True, size=7, opacity=0.75).encode(**place)
    middles = _base(_middle, placed).mark_rule(strokeWidth=2).encode(**place, y2=alt.Y2("to:Q"))
    return alt.layer(beyond, whiskers, boxes, middles)


def _across(placed: Sequence[PlacedBox]) -> alt.X:
    values = (
        value for each in placed for value in (each.box.low, each.box.high, *each.box.beyond, *(_notch(each) or ()))
    )
    return alt.X("ms:Q", **log_axis(span(value / UNIT for value in values) or (1.0, 10.0), "ms", 7, PLAIN, grid=True))


def _base(marks: Any, placed: Sequence[PlacedBox]) -> alt.Chart:
    return alt.Chart(table([datum for each in placed for datum in marks(each)])).encode(
        description=alt.Description("tip:N")
    )


def _notch(each: PlacedBox) -> tuple[float, float] | None:
    """Return the confidence interval of the median, or None if too few trials succeeded."""
    return each.row.bounds


def _datum(each: PlacedBox, us: float, y: float, **more: Any) -> dict[str, Any]:
    known = _notch(each)
    tip = (
        f"{each.name}: p50 {formatting.microseconds(each.box.p50)}"
        + (f", interval {formatting.interval(*known)}" if known else "")
        + f", middle half {formatting.interval(each.box.q1, each.box.q3)}"
    )
    return {"series": each.series, "place": each.place, "ms": us / UNIT, "y": y, "tip": tip, **more}


def _outline(each: PlacedBox) -> list[dict[str, Any]]:
    """Return the outline points of a box in drawing order, with a notch on both sides."""
    box, known = each.box, _notch(each)
    notch = [(known[0], THICK), (box.p50, WAIST), (known[1], THICK)] if known else []
    upper = [(box.q1, THICK), *notch, (box.q3, THICK)]
    around = [(us, -half) for us, half in upper] + list(reversed(upper))
    return [_datum(each, us, each.place + half, order=order) for order, (us, half) in enumerate(around)]


def _whiskers(each: PlacedBox) -> list[dict[str, Any]]:
    box = each.box
    return [_datum(each, start, each.place, to=end / UNIT) for start, end in ((box.low, box.q1), (box.q3, box.high))]


def _middle(each: PlacedBox) -> list[dict[str, Any]]:
    half = WAIST if _notch(each) else THICK
    return [_datum(each, each.box.p50, each.place - half, to=each.place + half)]


def _beyond(each: PlacedBox) -> list[dict[str, Any]]:
    return [_datum(each, us, each.place) for us in each.box.beyond]
