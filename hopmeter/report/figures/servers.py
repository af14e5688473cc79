"""Server by server: how long each of those that are asked together takes, and the wait for all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from hopmeter.report import formatting, theme
from hopmeter.report.drawing import Figure, Style, framed, log_axis, span, table
from hopmeter.report.grouping import Group
from hopmeter.report.servers import Asked, Server, asked

ORDER = 61
ROW, GAP = 15, 0.5
"""Pixels a server or the name of a row takes; the air between two rows, in servers."""

SHAPE = alt.condition("datum.who == 'all'", alt.value("diamond"), alt.value("circle"))


def draw(group: Group, style: Style) -> Figure | None:
    """A line for each server of each row, and one for all of them."""
    found = asked(group)
    data = _data(found)
    ends = span((datum[key] for datum in data for key in ("us", "p99", "held")), margin=1.06)
    if ends is None:
        return None
    return Figure(
        "servers",
        "Server by server",
        "Dot: the median reply of each server; diamond: the wait for all of them; small line: p99, where resolved. "
        "Ring: how long the server held the request, and for all of them the work that was asked for. Named with "
        "its share of messages: the server that is last most often.",
        _chart(data, found, group, style, ends),
        "; ".join(_told(each) for each in found),
    )


def _told(one: Asked) -> str:
    replies = formatting.listed([f"{_who(one, each)} {formatting.microseconds(each.p50)}" for each in one.servers])
    return f"{one.name}: {replies}; all of them {formatting.microseconds(one.row['gather_p50_us'])}"


def _who(one: Asked, server: Server) -> str:
    """The straggler with how often it was last."""
    last = f", last {formatting.percent(server.last)}" if server is one.straggler else ""
    return f"server {server.number}{last}"


def _data(found: Sequence[Asked]) -> list[dict[str, Any]]:
    """A datum for each line, with its place from the top; of several rows each has its name above it."""
    data: list[dict[str, Any]] = []
    name = 1.0 if len(found) > 1 else 0.0
    place = name
    for one in found:
        own = [_datum(one, _who(one, each), each.p50, each.p99, each.held) for each in one.servers]
        whole = one.row["gather_p50_us"]
        if whole is not None:
            own.append(_datum(one, "all", whole, one.row["gather_p99_us"], one.row["ideal_us"]))
        data += [{**datum, "place": place + step} for step, datum in enumerate(own)]
        place += len(own) + GAP + name
    return data


def _datum(one: Asked, who: str, us: float, p99: float | None, held: float | None) -> dict[str, Any]:
    known = [f"p50 {formatting.microseconds(us)}", f"p99 {formatting.microseconds(p99)}" if p99 else ""]
    work = "" if not held else f"{'asked for' if who == 'all' else 'held'} {formatting.microseconds(held)}"
    tip = f"{one.name}, {who}: " + ", ".join(formatting.distinct([*known, work]))
    return {"series": one.name, "who": who, "us": us, "p99": p99, "held": held, "tip": tip}


def _chart(
    data: list[dict[str, Any]], found: Sequence[Asked], group: Group, style: Style, ends: tuple[float, float]
) -> alt.TopLevelMixin:
    colour = style.colour(group.named(one.row for one in found))
    scale: dict[str, Any] = log_axis(ends, "", 5)
    scale["axis"].grid = True
    last = max(datum["place"] for datum in data)
    y = alt.Y("place:Q", axis=_axis(data), scale=alt.Scale(domain=[-0.7, last + 0.7], reverse=True, nice=False))
    base = alt.Chart(table(data)).encode(y=y, color=colour, description="tip:N")
    tails = base.transform_filter("datum.p99 != null")
    reach = tails.mark_rule(strokeWidth=1.2, opacity=0.6).encode(x=alt.X("us:Q", **scale), x2="p99:Q")
    ticks = tails.mark_tick(size=8, thickness=1.5).encode(x="p99:Q")
    held = base.transform_filter("datum.held != null").mark_point(filled=False, size=56, strokeWidth=1.2, opacity=1)
    dots = base.mark_point(filled=True, size=52, opacity=1).encode(x="us:Q", shape=SHAPE)
    return framed(alt.layer(reach, ticks, held.encode(x="held:Q"), dots), ROW * (last + 1.4))


def _axis(data: Sequence[dict[str, Any]]) -> alt.Axis:
    first = {datum["series"]: datum["place"] for datum in reversed(data)}
    heads = {place - 1: series for series, place in first.items()} if len(first) > 1 else {}
    names = heads | {datum["place"]: datum["who"] for datum in data}
    shade = alt.condition(f"indexof({list(heads)}, datum.value) < 0", alt.value(theme.SOFT), alt.value(theme.INK))
    return alt.Axis(
        values=[float(place) for place in names],
        labelExpr=f"{json.dumps({f'{place:.2f}': name for place, name in names.items()})}[format(datum.value, '.2f')]",
        labelColor=shade if heads else theme.INK,
        title=None,
        grid=False,
    )
