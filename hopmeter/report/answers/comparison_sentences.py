"""The answer for one table in sentences. The sentences state that a row is faster than another only if the difference
is statistically significant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from hopmeter.analysis.ranking.rounds import Comparison
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import Rank, compare, faster, ranks
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.words import conditions, formatting
from hopmeter.statistics import rounds_needed

LATENCIES = {
    "first_message": "half of the trials had their first message within {p50} of the start of the programs",
    "recovery": "half of the trials got the next message within {p50} of the start of the new process",
    "response": "half of the messages arrived within {p50} of when they were due",
    "roundtrip": "half of the round trips took {p50} or less",
    "gather": "half of the calls had the replies of all servers within {p50}",
    "service": "half of the messages took {p50} or less",
    "reaction": "half of the reactions took {p50} or less",
}
FASTEST = {"recovery": "recovers soonest"}
"""What the answer says about the fastest row, by headline. With any other headline, the row `is fastest`."""
LEVEL_ONLY = (
    "There are too few rounds with idle cores as they are to rank the rows; the rounds with idle cores kept awake "
    "determine the order."
)
MOST_NAMES, MOST_PAIRS = 4, 2
VAGUE = 10
"""Ratios above this value are written as `more than 10`."""
MOST_ROUNDS = 300
"""A pair that would need more rounds than this is too close to decide."""


def lead(group: Group, subject: str = "") -> str:
    """Return the ranking of a table in words: the fastest choice, the next fastest choice, and the rows that do not
    differ significantly."""
    return " ".join(lead_sentences(group, subject))


def lead_sentences(group: Group, subject: str = "") -> list[str]:
    """Return sentences that state the order of the rows, the median of the fastest row, and the reference rows.

    The first sentence begins with the subject of the table.
    """
    subject = subject or conditions.subject(group)
    order, *more = order_sentences(group)
    return [f"For {subject}, {order}", *more]


def order_sentences(group: Group) -> list[str]:
    """Return sentences that state the order of a table's rows.

    The title above the sentences names the table's subject, so the sentences omit the subject.
    """
    order = [f"{levels(group)}.", LEVEL_ONLY] if shows_level(group) else _order(group)
    return [*order, *filter(None, [_ranked_references(group), _references(group)])]


def name(group: Group, row: Row) -> str:
    """Return the shortest unambiguous name of a row: `nng`, or `nng (Python)` if the table has several languages."""
    return group.short_label(row)


def details(group: Group) -> list[str]:
    """Return sentences on the undecided pairs, the number of rounds needed to decide the pairs, and the failed rows."""
    undecided = "" if shows_level(group) else not_decided(group)
    return [*([undecided] if undecided else []), *without_result(group)]


def shows_level(group: Group) -> bool:
    """Return whether a table shows only latency levels because another table, with idle cores kept awake, ranks the
    rows."""
    run = group.rows[0].run
    both = run.part("scenario").get("no_idle_states") == "both"
    return both and not group.conditions[conditions.IDLE] and any(row.get(conditions.IDLE) for row in run.measured_rows)


def levels(group: Group) -> str:
    """Return the medians of the ranked rows in words."""
    return _levels(group, group.ranked_rows)


def _levels(group: Group, rows: Sequence[Row]) -> str:
    if len(rows) == 1:
        return f"the median of {name(group, rows[0])} is {formatting.microseconds(rows[0].p50)}"
    return f"the medians are {_medians(group, rows)}" if rows else "there is no median"


def _medians(group: Group, rows: Sequence[Row]) -> str:
    """Return the rows' medians as text, such as `shm 31.5 µs and unix 36.9 µs`."""
    known = [f"{name(group, row)} {formatting.microseconds(row.p50)}" for row in rows]
    return formatting.join(formatting.first(known, MOST_NAMES))


def _order(group: Group) -> list[str]:
    ranked = ranks(group)
    if not ranked:
        return _without_rank(group)
    first = ranked[0]
    if len(ranked) == 1:
        alone = f"{name(group, first.row)} is the only ranked row: {median_words(first.row)}."
        return [alone, _why_alone(group)]
    if first.best is None:
        lowest = f"{name(group, first.row)} had the lowest median of {len(ranked)} rows."
        return [lowest, "There are too few good trials or messages for intervals, so the rows have no rank."]
    rest = [rank.row for rank in ranked if rank is not first and rank.row not in first.ties]
    parts = [_tie(group, first), *_next(group, first.row, rest)] if first.ties else [_fastest(group, first.row, rest)]
    return [f"{'; '.join(parts)}.", _sentence(median_words(first.row), group, first.row), *_alike(group, rest)]


def _why_alone(group: Group) -> str:
    if not any(row.ok for row in group.references):
        return "There is no other row to compare with."
    return "No library was measured." if group.has_only_references else "No other library was measured."


def _without_rank(group: Group) -> list[str]:
    """Return the medians of the rows that have no rank, such as reference rows."""
    if not group.measured_rows:
        return ["no transport has a valid latency."]
    return [f"{_levels(group, group.measured_rows)}.", "These rows are for comparison only, so they have no rank."]


def _sentence(median: str, group: Group, row: Row) -> str:
    """Return a sentence such as `With zenoh, half of the messages …`."""
    return f"With {name(group, row)}, {median}."


def _fastest(group: Group, first: Row, rest: Sequence[Row]) -> str:
    (after,) = _next(group, first, rest)
    return f"{name(group, first)} {FASTEST.get(first.headline, 'is fastest')}; {after}"


def _next(group: Group, first: Row, rest: Sequence[Row]) -> list[str]:
    """Return a sentence on how much longer the second-fastest row takes than the fastest row, or an empty list if there
    is no second row."""
    if not rest:
        return []
    return [f"{name(group, rest[0])} is next, and takes {how_long(first, rest[0])} as {name(group, first)}"]


def how_long(one: Row, other: Row) -> str:
    """Return how long `other` takes relative to `one`, such as `2.1 to 2.6 times as long`.

    If the rows share no rounds, return the smallest ratio that the intervals of both rows allow.
    """
    known = compare(one, other)
    if known and known.low is not None and known.high is not None:
        low, high = formatting.ratio(known.low), formatting.ratio(known.high)
        is_least = known.decided and low == formatting.ratio(1)
        early = " (stopped early)" if known.stopped_early else ""
        bounds = f"more than 1 and at most {high}" if is_least else f"{low} to {high}"
        return f"{bounds} times as long{early}"
    here, there = one.bounds, other.bounds
    least = there[0] / here[1] if here and there and here[1] > 0 else None
    return f"at least {formatting.ratio(least)} times as long" if least else "longer"


def _tie(group: Group, first: Rank) -> str:
    """Return a sentence on the rows that do not differ significantly from the first row, with the largest ratio that
    the intervals allow."""
    names = formatting.join(formatting.first([name(group, row) for row in (first.row, *first.ties)], MOST_NAMES))
    highs = [known.high for row in first.ties if (known := compare(first.row, row)) and known.high is not None]
    if len(highs) < len(first.ties):
        return f"{names} do not differ significantly"
    if max(highs) > VAGUE:
        return f"{names} do not differ significantly, but one may still take more than {VAGUE} times as long as another"
    most = f"{formatting.ratio(max(highs))} times as long as {name(group, first.row)}"
    if len(first.ties) == 1:
        return f"{names} do not differ significantly: {name(group, first.ties[0])} takes at most {most}"
    return f"{names} do not differ significantly: none of them takes more than {most}"


def _alike(group: Group, rows: Sequence[Row]) -> list[str]:
    """Return sentences on rows that are slower than the first row but do not differ significantly from each other."""
    clusters: list[list[Row]] = []
    for row in rows:
        if clusters and not any(faster(other, row) or faster(row, other) for other in clusters[-1]):
            clusters[-1].append(row)
        else:
            clusters.append([row])
    several = [[name(group, row) for row in cluster] for cluster in clusters if len(cluster) > 1]
    listed = [formatting.join(formatting.first(names, MOST_NAMES)) for names in several[:MOST_PAIRS]]
    return [f"{names} do not differ significantly from each other." for names in listed]


def median_words(row: Row) -> str:
    """Return a row's median and its interval in words."""
    half, known = LATENCIES[row.headline].format(p50=formatting.microseconds(row.p50)), row.bounds
    if row["pattern"] != "pubsub":
        half = half.replace("half of the messages arrived", "half of the replies arrived")
        half = half.replace("they were due", "their requests were due")
    return half + (f" (95 % interval {formatting.interval(*known)})" if known else "")


def _references(group: Group) -> str:
    """Return a sentence on how long the reference rows take, relative to the fastest choice.

    If a ratio is unknown, the sentence states the medians of the reference rows.
    """
    known, first = [row for row in group.references if row.ok], group.ranked_rows[:1]
    if not known or not first:
        return ""
    ratios = [_ratio(first[0], row) for row in known[:MOST_NAMES]]
    if shows_level(group) or not all(ratios):
        return f"Medians of the references, for comparison: {_medians(group, known)}."
    named, best = (
        [f"{name(group, row)} {ratio}" for row, ratio in zip(known, ratios, strict=False)],
        name(group, first[0]),
    )
    if len(known) == 1:
        return f"For comparison, the reference {name(group, known[0])} takes {ratios[0]} times as long as {best}."
    return f"For comparison, the references take these multiples of the time of {best}: {formatting.join(named)}."


def _ratio(one: Row, other: Row) -> str:
    """Return a ratio as the table shows it, such as `0.665 (0.544–0.813)`. Return an empty string if the rows share no
    rounds."""
    known = compare(one, other)
    if known is None or known.ratio is None:
        return ""
    ends = "" if known.low is None else f" {formatting.ratio_bracket(known.low, known.high)}"
    return f"{formatting.number(known.ratio)}{ends}"


def _ranked_references(group: Group) -> str:
    """Return a sentence which states that all ranked rows are references.

    Return an empty string if the table also ranks a library.
    """
    if not group.has_only_references or len(group.ranked_rows) < 2:
        return ""
    return "All these rows are references, not libraries that you can install; they are ranked only against each other."


@dataclass(frozen=True)
class OpenPair:
    """Two rows whose order is undecided."""

    one: Row
    other: Row
    known: Comparison
    rounds: int | None
    """The number of rounds that would decide the pair in 80 % of cases, or None if the rows are too close to decide."""

    @property
    def is_choice(self) -> bool:
        """Whether both rows are choices rather than references."""
        return self.one.recommendable and self.other.recommendable

    @property
    def reach(self) -> float:
        """The largest ratio between the two rows that the interval allows, in either direction."""
        low, high = self.known.low, self.known.high
        return max(high, 1 / low) if low and high else math.inf


def open_pairs(group: Group) -> list[OpenPair]:
    """Return the undecided pairs of rows, sorted by the number of rounds needed to decide each pair."""
    found = list(_open_pairs(group.ranked_rows))
    return sorted(found, key=lambda each: each.rounds or math.inf)


def _open_pairs(rows: Sequence[Row]) -> Iterator[OpenPair]:
    for one, other in combinations(rows, 2):
        known = compare(one, other)
        if known and not known.decided and known.ratio is not None and known.low is not None:
            ranking = one.run.rankings[one.cell.group].ranking
            needed = rounds_needed(ranking, known.ratio, one.id, other.id)
            more = max(needed or 0, 1 + min(ranking.rounds[one.id], ranking.rounds[other.id]))
            yield OpenPair(one, other, known, more if needed and more <= MOST_ROUNDS else None)


def not_decided(group: Group) -> str:
    """Return a sentence on the undecided pairs, or an empty string if there are none."""
    found = open_pairs(group)
    first = {id(rank.row) for rank in ranks(group)[:1]}
    words = [_open(group, each, id(each.one) in first) for each in found[:MOST_PAIRS]]
    rest = len(found) - len(words)
    words += [formatting.plural(rest, "other pair")] if rest else []
    return f"Undecided pairs: {'; '.join(words)}." if words else ""


def _open(group: Group, pair: OpenPair, is_known: bool) -> str:
    """Return an undecided pair in words. The largest possible ratio is omitted if another sentence above states it."""
    most = f"more than {VAGUE}" if pair.reach > VAGUE else f"up to {formatting.ratio(pair.reach)}"
    reach = "" if is_known else f"one may take {most} times as long as the other; "
    needs = f"about {pair.rounds} rounds would decide" if pair.rounds else f"{MOST_ROUNDS} rounds would not decide"
    return f"{name(group, pair.one)} and {name(group, pair.other)} ({reach}{needs})"


def without_result(group: Group) -> list[str]:
    """Return sentences on the failed rows and on the rows that could not sustain the rate."""
    failed = [name(group, row) for row in group.choices if row["status"] == "failed"]
    saturated = [name(group, row) for row in group.choices if row["status"] == "saturated"]
    words = [f"{formatting.join(failed)} failed."] if failed else []
    they = "it has" if len(saturated) == 1 else "they have"
    return [*words, *([f"{formatting.join(saturated)} could not keep up, so {they} no rank."] if saturated else [])]
