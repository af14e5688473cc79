"""Compares codecs over several transports: finds comparable rows, and the positions of the rows in a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hopmeter.analysis.results.distributions import Box, row_box
from hopmeter.analysis.results.groups import Group, families, labels
from hopmeter.analysis.results.run_results import Row
from hopmeter.model.payload_words import name_payload
from hopmeter.report.words import formatting
from hopmeter.report.words.conditions import describe

FREE = ("codec", "device", "share", "payload_bytes")
"""Conditions that may differ between codecs. For example, each codec has its own message size."""
ROW, GAP = 17, 0.7
"""The row height in pixels, and the gap between two codecs in rows."""


@dataclass(frozen=True)
class PlacedBox:
    """A row with the box plot of its samples and its vertical position."""

    row: Row
    box: Box
    codec: str
    series: str
    place: float

    @property
    def name(self) -> str:
        """The label of the box, such as `numpy over zeromq`."""
        return f"{self.codec} over {self.series}"


def object_families(groups: Sequence[Group]) -> list[list[Group]]:
    """Return sets of groups; the groups of a set differ only in the codec. A set is left out if none of its groups has
    a codec."""
    found = families(groups, FREE)
    return [family for family in found if any(group.conditions["codec"] != "none" for group in family)]


class CodecGroup(Group):
    """The codecs measured over one transport, fastest first. The rows are named after their codecs."""

    @cached_property
    def labels(self) -> dict[int, str]:
        """The codec of each row, by `id` of the row object."""
        several = len({row.cell.axes.place for row in self.rows}) > 1
        return {id(row): _codec(row, several) for row in self.rows}


def codecs_by_transport(groups: Sequence[Group]) -> dict[str, Group]:
    """For each transport with several codecs, return a group of the rows of these codecs, keyed by the group's
    title."""
    return {
        f"{_object(family[0])} over {name}": CodecGroup(family[0].conditions, tuple(rows))
        for family in object_families(groups)
        for name, rows in _by_transport(family).items()
        if len(rows) > 1
    }


def _object(group: Group) -> str:
    """Return a description of the objects that a group sends, such as `array 200×200 at 100 Hz`."""
    named, rate = name_payload(str(group.conditions["payload"])), formatting.rate(group.conditions["rate_hz"])
    return named + ("" if rate == formatting.NOTHING else f" at {rate}")


def _by_transport(family: Sequence[Group]) -> dict[str, list[Row]]:
    rows = sorted((row for group in family for row in group.candidates), key=lambda row: row.p50 or 0.0)
    names, found = labels(rows, FREE), dict[str, list[Row]]()
    for row in rows:
        found.setdefault(names[id(row)], []).append(row)
    return found


def common_conditions(family: Sequence[Group]) -> str:
    """Return the conditions that all given groups share. The payload size is included only if it is equal for all
    codecs."""
    sizes = {group.conditions["payload_bytes"] for group in family}
    same = family[0].conditions | ({"payload_bytes": 0} if len(sizes) > 1 else {})
    return describe(replace(family[0], conditions=same), "codec", "device", "share")


def figure_title(title: str, family: Sequence[Group]) -> str:
    """Return the title of a figure. In a workload, the title includes the name of the flow that carries the objects."""
    flow = family[0].conditions.get("flow")
    return f"{title}: flow {flow}" if flow else title


def placed_rows(family: Sequence[Group]) -> list[PlacedBox]:
    """Return the boxes of all candidate rows that have samples, placed from top to bottom."""
    rows = [row for group in family for row in group.candidates]
    return place_boxes([(row, box) for row in rows if (box := row_box(row))])


def place_boxes(found: Sequence[tuple[Row, Box]]) -> list[PlacedBox]:
    """Place boxes from top to bottom. Codecs are sorted by their fastest row, and the rows of each codec by latency,
    fastest first."""
    names, several = labels([row for row, _ in found], FREE), len({row.cell.axes.place for row, _ in found}) > 1
    codecs: dict[str, list[tuple[Row, Box]]] = {}
    for row, box in sorted(found, key=lambda each: each[1].p50):
        codecs.setdefault(_codec(row, several), []).append((row, box))
    stands, place = [], 0.0
    for codec, boxes in codecs.items():
        for row, box in boxes:
            stands.append(PlacedBox(row, box, codec, names[id(row)], place))
            place += 1
        place += GAP if len(boxes) > 1 else 0
    return stands


def gpu_factors(stands: Sequence[PlacedBox]) -> list[str]:
    """For each codec and transport, return the ratio of the medians with GPU and host memory, such as `torch over
    zeromq 1.30×`."""
    medians = {(str(each.row["codec"]), each.series, each.row.cell.axes.place): each.box.p50 for each in stands}
    return [
        " ".join([f"{codec} over {series}", *(f"by {share}" for share in place[1:]), formatting.times(there / here)])
        for (codec, series, place), there in medians.items()
        if place != ("cpu",) and (here := medians.get((codec, series, ("cpu",))))
    ]


def _codec(row: Row, places: bool) -> str:
    codec = "no codec" if row["codec"] in (None, "none") else str(row["codec"])
    return " ".join(formatting.distinct([codec, *(row.cell.axes.place if places else ())]))


def height(stands: Sequence[PlacedBox]) -> float:
    """Return the height of a figure with the given boxes in pixels."""
    return ROW * (stands[-1].place + 1.4)
