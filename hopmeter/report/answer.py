"""The answer in a sentence or two, which never claims what the intervals do not resolve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hopmeter.report import formatting
from hopmeter.report.codecs import ways
from hopmeter.report.copies import copies
from hopmeter.report.grouping import Group
from hopmeter.report.limits import most_pairs
from hopmeter.report.ranking import Place, bounds, faster, places
from hopmeter.report.searches import searches
from hopmeter.report.server_overhead import beyond
from hopmeter.report.source import Row, Run

SPELLED_OUT = 3
"""Up to so many groups get a sentence each."""
WHAT = {
    "response": "half of its messages arrived within {p50} of when they were due",
    "roundtrip": "half of its messages came back within {p50}",
    "gather": "half of its messages had the replies of all servers within {p50}",
    "service": "half of its messages took {p50} or less",
}


def answer(runs: Sequence[Run], found: Sequence[Group]) -> list[str]:
    """Sentences in plain words, most important first."""
    copied = [each.sentence for each in copies(runs)]
    above = [each.sentence for each in beyond(found)]
    asked = [each.sentence for each in searches(runs)] + [each.sentence for each in most_pairs(runs)] + above + copied
    found = [group for group in found if not all(row.cell.comparison.search for row in group.rows)]
    if asked and not found:
        return [*asked, *caution(runs)]
    measured = [group for group in found if group.ranked]
    telling = [group for group in measured if len(group.ranked) > 1] or ([] if copied else measured)
    if not telling:
        return (
            [*asked, *caution(runs)]
            if asked
            else ["No cell of this run gave a latency that could be shown; the reasons stand below."]
        )
    said = [sentence(group, found) for group in telling] if len(telling) <= SPELLED_OUT else [summary(telling)]
    return [*asked, *_by_codec(found), *said, *caution(runs)]


def _by_codec(found: Sequence[Group]) -> list[str]:
    """Which codec is the fastest over each transport; nothing where objects of several were not compared."""
    over = ways(found)
    if len(over) <= SPELLED_OUT:
        return [sentence(way, [*over, *found]) for way in over]
    return [f"Codec by codec: {summary(over)}"]


def sentence(group: Group, found: Sequence[Group]) -> str:
    """The answer of one group."""
    where = f"{group.title[:1].upper()}{group.title[1:]}: " if len(found) > 1 else ""
    ranked = places(group)
    first = ranked[0]
    if len(ranked) == 1:
        return f"{where}{_told(group, first.row)}{_floored(first.row)}. Nothing else was there to compare it with."
    if first.best is None:
        return (
            f"{where}{_name(group, first.row)} had the lowest median of {len(ranked)} rows, but with too few good "
            "trials, or too few messages in them, for intervals no order is settled."
        )
    if first.ties:
        return f"{where}{_tied(group, first)}"
    return f"{where}{_told(group, first.row, ' was fastest')}{_lead(group, ranked)}."


def _told(group: Group, row: Row, verdict: str = "") -> str:
    """`shm was fastest: half of …` with its interval."""
    what = WHAT[row.headline].format(p50=formatting.microseconds(row.p50))
    known = bounds(row)
    return f"{_name(group, row)}{verdict}: {what}" + (
        f" (95 % interval {formatting.interval(*known)})" if known else ""
    )


def _floored(row: Row) -> str:
    ratio = row["times_floor"]
    return "" if ratio is None or row.is_floor else f", {formatting.times(ratio)} what the cheapest way here takes"


def _tied(group: Group, first: Place) -> str:
    names = [_name(group, row) for row in (first.row, *first.ties)]
    if len(names) > 4:
        names = [*names[:3], formatting.plural(len(names) - 3, "other")]
    slower = [row for row in group.ranked if faster(first.row, row)]
    rest = f" {_name(group, first.row)} is faster than {formatting.listed(_some(group, slower))}." if slower else ""
    return (
        f"{formatting.listed(names)} cannot be told apart: their intervals overlap. The lowest median is "
        f"{formatting.microseconds(first.row.p50)}.{rest}"
    )


def _some(group: Group, rows: Sequence[Row]) -> list[str]:
    names = [_name(group, row) for row in rows]
    return names if len(names) <= 4 else [*names[:3], formatting.plural(len(names) - 3, "other")]


def _lead(group: Group, ranked: Sequence[Place]) -> str:
    """How far the next is behind, in the most careful reading of both intervals."""
    mine, next_one = bounds(ranked[0].row), bounds(ranked[1].row)
    if mine is None or next_one is None or mine[1] <= 0:
        return ""
    return f"; the next, {_name(group, ranked[1].row)}, took at least {formatting.times(next_one[0] / mine[1])} as long"


def _name(group: Group, row: Row) -> str:
    return group.label(row)


def summary(found: Sequence[Group]) -> str:
    """Many groups in one sentence: who leads where it is resolved, and where nothing is."""
    firsts = [(group, places(group)[0]) for group in found]
    clear = Counter(group.label(place.row) for group, place in firsts if place.best is not None and not place.ties)
    open_ones = len(found) - clear.total()
    total = formatting.plural(len(found), "comparison")
    if not clear:
        return f"Of {total}, none has a fastest row that the intervals set apart from all others."
    led = formatting.listed([f"{name} was fastest in {many}" for name, many in clear.most_common()])
    rest = f"; in the other {open_ones} the intervals do not settle it" if open_ones else ""
    return f"Of {total}, {led}{rest}."


def caution(runs: Sequence[Run]) -> list[str]:
    """What the answer must not be read without."""
    quick = any(run.quick for run in runs)
    said = (
        ["This is a quick look: few and short trials. It tells orders of magnitude apart, not neighbours."]
        if quick
        else []
    )
    saturated = sorted({row["transport"] for run in runs for row in run.measured if row["status"] == "saturated"})
    if saturated:
        said.append(f"{formatting.listed(saturated)} could not keep up everywhere; those rows are not ranked.")
    return said
