"""Figure that splits the time of an object into encoding, transport and decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group
from hopmeter.report.drawing import codec_axis, folding, theme
from hopmeter.report.drawing.charts import Figure, Style, frame, table
from hopmeter.report.words import codec_rows, formatting
from hopmeter.report.words.codec_rows import PlacedBox

ORDER = 2
PARTS = {"encode": theme.SERIES[1], "transport": theme.SERIES[7], "decode": theme.SERIES[0]}
"""The parts of an object's time (encoding, transport, decoding) in drawing order, with their colours."""
THICK = 0.34
BAR = 170.0
"""The length of a full bar in pixels. Row names are to the right of the bars."""


def across(groups: Sequence[Group], _: Style) -> Iterator[Figure]:
    """Yield a figure for each set of conditions under which encoding, transport and decoding add up to the total
    time."""
    for number, family in enumerate(codec_rows.object_families(groups), 1):
        placed = [each for each in codec_rows.placed_rows(family) if parts(each)]
        if placed:
            yield Figure(
                f"across-shares-{number}",
                codec_rows.figure_title("Encoding, transport, decoding", family),
                "The mean time from sending until the receiver has the object, and the share of each part. Means are "
                "shown because, unlike medians, they add up. Transport is the time from the end of encoding to the "
                "start of decoding.",
                _chart(placed),
                "Shares: " + "; ".join(_words(each) for each in placed),
            )


def parts(each: PlacedBox) -> dict[str, float] | None:
    """Return the mean time in microseconds of encoding, transport and decoding. Return None if the parts do not add up
    to the total time, or if the transport library encodes the objects."""
    row = each.row
    whole, encode, decode = (row.get(f"{name}_mean_us") for name in ("service", "encode", "decode"))
    adds_up = row["pattern"] == "pubsub" and not row.cell.axes.is_ring and row["sinks"] == 1
    if not adds_up or not whole or row.cell.carriage.own_encoders:
        return None
    coded = (encode or 0.0) + (decode or 0.0)
    return {"encode": encode or 0.0, "transport": max(0.0, whole - coded), "decode": decode or 0.0}


def _words(each: PlacedBox) -> str:
    found = parts(each) or {}
    whole = sum(found.values())
    shares = (f"{name} {formatting.percent(us / whole)}" for name, us in found.items() if us)
    return f"{each.name} {formatting.microseconds(whole)}, {', '.join(shares)}"


def _data(each: PlacedBox) -> list[dict[str, Any]]:
    """Return a datum for each part of the bar. Each part of the bar starts where the previous part ends."""
    found, start, data = parts(each) or {}, 0.0, []
    whole = sum(found.values())
    for name, us in found.items():
        tip = f"{each.name}: {name} {formatting.microseconds(us)} of {formatting.microseconds(whole)}"
        edges = {"y": each.place - THICK, "y2": each.place + THICK}
        data.append({"part": name, "from": start, "to": start + us / whole, "tip": tip, **edges})
        start += us / whole
    return data


def _chart(placed: Sequence[PlacedBox]) -> alt.TopLevelMixin:
    several = len({each.series for each in placed}) > 1 and len({each.codec for each in placed}) > 1
    names: list[dict[str, Any]] = [
        {
            "y": each.place,
            "at": 1.03,
            "name": " ".join([each.series] * several + [formatting.microseconds(sum((parts(each) or {}).values()))]),
        }
        for each in placed
    ]
    room = 1.05 + max(len(each["name"]) for each in names) * folding.LETTER / BAR
    axis = alt.Axis(
        values=[0, 0.25, 0.5, 0.75, 1],
        format="%",
        title="share of the mean",
        titleAnchor="start",
        grid=True,
        domain=False,
    )
    x = alt.X("from:Q", axis=axis, scale=alt.Scale(domain=[0, room], nice=False))
    bars = (
        alt.Chart(table([datum for each in placed for datum in _data(each)]))
        .mark_rect(opacity=0.8)
        .encode(
            x=x,
            x2=alt.X2("to:Q"),
            y=codec_axis.vertical(placed),
            y2=alt.Y2("y2:Q"),
            color=_colour(),
            description=alt.Description("tip:N"),
        )
    )
    labels = (
        alt.Chart(table(names))
        .mark_text(align="left", baseline="middle", aria=False)
        .encode(x=alt.X("at:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N"))
    )
    return frame(alt.layer(bars, labels), codec_rows.height(placed))


def _colour() -> alt.Color:
    legend = alt.Legend(title=None, symbolType="square", symbolSize=110, symbolStrokeWidth=0, columns=3)
    return alt.Color(
        "part:N", scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())), sort=None, legend=legend
    )
