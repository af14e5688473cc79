"""Figure of the reply time of each server, and of the time until all servers have replied."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from hopmeter.analysis.results.groups import Group
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import Data, Figure, Style, frame, receiver_layers, span, table
from hopmeter.report.drawing.scatter_servers import ScatterRow, ServerTimes, scatter_rows
from hopmeter.report.words import formatting

ORDER = 61
ROW, GAP = 15, 0.5
"""The height of a line in pixels, and the gap between two rows as a number of lines."""


def draw(group: Group, style: Style) -> Figure | None:
    """Return the figure, with a line for each server and one for all servers together. Return None if there is no
    data."""
    found = scatter_rows(group)
    data = _data(found)
    ends = span((datum[key] for datum in data for key in ("p50", "p99", "ring")), margin=1.06)
    if ends is None:
        return None
    colour = style.colour(group.rows_by_name(one.row for one in found))
    last = max(datum["place"] for datum in data)
    y = alt.Y("place:Q", axis=_axis(data), scale=alt.Scale(domain=[-0.7, last + 0.7], reverse=True, nice=False))
    base = alt.Chart(table(data)).encode(y=y, color=colour, description=alt.Description("tip:N"))
    return Figure(
        "servers",
        "Reply time of each server",
        "Dot: the median time to the reply of each server. Diamond: the median wait for all servers. Small line: p99, "
        "if there are enough messages. Ring: the time for which the server held the request or, for all servers, the "
        "requested work. The percentage is the share of messages in which the slowest server replied last.",
        frame(alt.layer(*receiver_layers(base, ends)), ROW * (last + 1.4)),
        "; ".join(map(_words, found)),
    )


def _words(one: ScatterRow) -> str:
    replies = formatting.join([f"{_name(one, each)} {formatting.microseconds(each.p50)}" for each in one.servers])
    return f"{one.name}: {replies}; all servers {formatting.microseconds(one.row.median('gather'))}"


def _name(one: ScatterRow, server: ServerTimes) -> str:
    """Return the server's label. The label of the server that most often replied last includes its share of last
    replies."""
    last = f", last {formatting.percent(server.last)}" if server is one.straggler else ""
    return f"server {server.number}{last}"


def _data(found: Sequence[ScatterRow]) -> Data:
    """Return a datum for each line of the figure, with the vertical position of the line. If there are several rows,
    each row's name is above the lines of the row's servers."""
    data: Data = []
    name = 1.0 if len(found) > 1 else 0.0
    place = name
    for one in found:
        own = [_datum(one, _name(one, each), each.p50, each.p99, each.held) for each in one.servers]
        whole = one.row.median("gather")
        if whole is not None:
            own.append(_datum(one, "all", whole, one.row["gather_p99_us"], one.row["ideal_us"]))
        data += [{**datum, "place": place + step} for step, datum in enumerate(own)]
        place += len(own) + GAP + name
    return data


def _datum(one: ScatterRow, who: str, p50: float, p99: float | None, held: float | None) -> dict[str, Any]:
    known = [f"p50 {formatting.microseconds(p50)}", f"p99 {formatting.microseconds(p99)}" if p99 else ""]
    work = f"{'requested work' if who == 'all' else 'held'} {formatting.microseconds(held)}" if held else ""
    tip = f"{one.name}, {who}: " + ", ".join(formatting.distinct([*known, work]))
    return {"series": one.name, "who": who, "p50": p50, "p99": p99, "ring": held, "tip": tip}


def _axis(data: Data) -> alt.Axis:
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
