"""Objects of many frameworks over many transports: which rows belong together, and where each stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import altair as alt

from hopmeter.report import formatting, shapes, theme
from hopmeter.report.grouping import Group, families, labels
from hopmeter.report.source import Row

ASIDE = ("codec", "device", "share", "payload_bytes")
"""A codec decides how many bytes travel; where the object lives is part of what it is."""
ROW, GAP = 17, 0.7
"""Pixels a row takes; the air between two codecs, in rows."""


@dataclass(frozen=True)
class Stand:
    """A row of `cells.parquet`, what its samples look like, and where it stands."""

    row: Row
    box: shapes.Box
    codec: str
    series: str
    place: float

    @property
    def name(self) -> str:
        """`numpy over zeromq`."""
        return f"{self.codec} over {self.series}"


def encoded(groups: Sequence[Group]) -> list[list[Group]]:
    """Groups with the same conditions but for the codec, where objects were encoded at all."""
    found = families(groups, ASIDE)
    return [family for family in found if any(group.conditions["codec"] != "none" for group in family)]


@dataclass(frozen=True)
class OneWay(Group):
    """The objects that one transport carries, fastest codec first; rows are named by their codecs."""

    over: str = ""
    """The transport, with what else tells it from the others."""

    @cached_property
    def labels(self) -> dict[int, str]:
        """The codec of each row, by `id` of the row object."""
        several = len({row.cell.axes.place for row in self.rows}) > 1
        return {id(row): _codec(row, several) for row in self.rows}

    @property
    def title(self) -> str:
        """`array 200×200 at 100 Hz over zeromq`."""
        kind, _, shape = str(self.conditions["payload"]).partition(":")
        payload, rate = f"{kind} {shape.replace('x', '×')}".strip(), formatting.rate(self.conditions["rate_hz"])
        return f"{payload} at {rate} over {self.over}" if rate != formatting.NOTHING else f"{payload} over {self.over}"


def ways(groups: Sequence[Group]) -> list[OneWay]:
    """The codecs of each transport, wherever it carried objects of several under the same conditions."""
    return [way for family in encoded(groups) for way in _ways(family) if len(way.rows) > 1]


def _ways(family: Sequence[Group]) -> list[OneWay]:
    rows = sorted((row for group in family for row in group.ranked), key=lambda row: row.p50 or 0.0)
    names, over = labels(rows, ASIDE), dict[str, list[Row]]()
    for row in rows:
        over.setdefault(names[id(row)], []).append(row)
    return [OneWay(family[0].conditions, tuple(found), over=name) for name, found in over.items()]


def conditions(family: Sequence[Group]) -> str:
    """What all these groups have in common; the size only where every codec makes the same of it."""
    sizes = {group.conditions["payload_bytes"] for group in family}
    same = family[0].conditions | ({"payload_bytes": 0} if len(sizes) > 1 else {})
    return ", ".join(replace(family[0], conditions=same).told("codec", "device", "share"))


def placed(family: Sequence[Group]) -> list[Stand]:
    """Candidates with samples from top to bottom: codecs by their fastest row, and in each the fastest first."""
    rows = [row for group in family for row in group.ranked]
    return arranged([(row, box) for row in rows if (box := shapes.box(row))])


def arranged(found: Sequence[tuple[Row, shapes.Box]]) -> list[Stand]:
    """Rows with their boxes from top to bottom, in that order."""
    names, several = labels([row for row, _ in found], ASIDE), len({row.cell.axes.place for row, _ in found}) > 1
    codecs: dict[str, list[tuple[Row, shapes.Box]]] = {}
    for row, box in sorted(found, key=lambda each: each[1].p50):
        codecs.setdefault(_codec(row, several), []).append((row, box))
    stands, place = [], 0.0
    for codec, boxes in codecs.items():
        for row, box in boxes:
            stands.append(Stand(row, box, codec, names[id(row)], place))
            place += 1
        place += GAP if len(boxes) > 1 else 0
    return stands


def on_gpu(stands: Sequence[Stand]) -> list[str]:
    """`torch over zeromq 1.30×`: the median of objects on a GPU as a multiple of that of the same ones in memory."""
    medians = {(str(each.row["codec"]), each.series, each.row.cell.axes.place): each.box.p50 for each in stands}
    return [
        " ".join([f"{codec} over {series}", *(f"by {share}" for share in place[1:]), formatting.times(there / here)])
        for (codec, series, place), there in medians.items()
        if place != ("cpu",) and (here := medians.get((codec, series, ("cpu",))))
    ]


def _codec(row: Row, places: bool) -> str:
    codec = "no codec" if row["codec"] in (None, "none") else str(row["codec"])
    return " ".join(formatting.distinct([codec, *(row.cell.axes.place if places else ())]))


def height(stands: Sequence[Stand]) -> float:
    """Of the figure, in pixels."""
    return ROW * (stands[-1].place + 1.4)


def vertical(stands: Sequence[Stand]) -> alt.Y:
    """The channel over a column `y` of places."""
    scale = alt.Scale(domain=[-0.7, stands[-1].place + 0.7], reverse=True, nice=False)
    return alt.Y("y:Q", axis=_axis(stands), scale=scale)


def _axis(stands: Sequence[Stand]) -> alt.Axis:
    """The name of each codec beside the middle of its boxes; of each series where there is one codec only."""
    by_codec = len({each.codec for each in stands}) > 1
    places: dict[str, list[float]] = {}
    for each in stands:
        places.setdefault(each.codec if by_codec else each.series, []).append(each.place)
    names = {f"{sum(at) / len(at):.2f}": name for name, at in places.items()}
    return alt.Axis(
        values=[float(at) for at in names],
        labelExpr=f"{json.dumps(names)}[format(datum.value, '.2f')]",
        labelColor=theme.INK,
        title=None,
        grid=False,
    )
