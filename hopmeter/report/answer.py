"""The answer in a sentence or two, which never claims more than the intervals prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hopmeter.analysis.groups import Group
from hopmeter.analysis.pair_limits import most_pairs
from hopmeter.analysis.ranking import Rank, bounds, faster, ranks
from hopmeter.analysis.run_results import Row, Run
from hopmeter.report import codec_rows, conditions, formatting, limits_table
from hopmeter.report.copy_sentences import copy_sentences
from hopmeter.report.highest_rates import search_groups
from hopmeter.report.next_command import next_sentence
from hopmeter.report.work_sentences import work_sentences

SPELLED_OUT = 3
"""The most groups that get a sentence each."""
LATENCIES = {
    "response": "half of its messages arrived within {p50} of when they were due",
    "roundtrip": "half of its messages came back within {p50}",
    "gather": "half of its messages had the replies of all servers within {p50}",
    "service": "half of its messages took {p50} or less",
}


def answer(runs: Sequence[Run], groups: Sequence[Group]) -> list[str]:
    """Sentences in plain words, most important first."""
    copies = copy_sentences(runs)
    special = [each.sentence for each in search_groups(runs)]
    special += [*map(limits_table.sentence, most_pairs(runs)), *work_sentences(groups), *copies]
    groups = [group for group in groups if not all(row.cell.comparison.search for row in group.rows)]
    compared = [group for group in groups if choice_ranks(group)]
    several = [group for group in compared if len(choice_ranks(group)) > 1] or ([] if copies else compared)
    if not several:
        return (
            [*special, *caution(runs)]
            if special
            else ["No cell of this run has a latency to show; see the reasons below."]
        )
    titles = [conditions.title(group) if len(groups) > 1 else "" for group in several]
    single = [sentence(group, title) for group, title in zip(several, titles, strict=True)]
    return [
        *special,
        *_by_codec(groups),
        *(single if len(single) <= SPELLED_OUT else [summary(several)]),
        *caution(runs),
    ]


def _by_codec(groups: Sequence[Group]) -> list[str]:
    """Return the fastest codec over each transport; empty if no transport carried objects of several."""
    found = codec_rows.codecs_by_transport(groups)
    if len(found) <= SPELLED_OUT:
        return [sentence(group, title) for title, group in found.items()]
    return [f"Codec by codec: {summary(list(found.values()))}"]


def sentence(group: Group, title: str = "") -> str:
    """Return the answer of one group."""
    start = f"{title[:1].upper()}{title[1:]}: " if title else ""
    return f"{start}{_order(group)}{_references(group)}"


def _order(group: Group) -> str:
    """Return the fastest of the rows that a user can choose."""
    ranked = choice_ranks(group)
    first = ranked[0]
    name = group.label(first.row)
    if len(ranked) == 1:
        return f"{_median(name, first.row)}{_times_floor(first.row)}. There is nothing else to compare it with."
    if first.best is None:
        return (
            f"{name} had the lowest median of {len(ranked)} rows. There are too few good trials, or too few "
            "messages in them, for intervals, so the rows have no rank."
        )
    if first.ties:
        return _tie(group, first)
    return f"{_median(f'{name} was fastest', first.row)}{_lead(group, ranked)}."


def choice_ranks(group: Group) -> list[Rank]:
    """Return the ranks of the rows that a user can choose, fastest first; ties are among them too."""
    chosen = set(map(id, group.choices))
    return [
        replace(rank, ties=tuple(row for row in rank.ties if id(row) in chosen))
        for rank in ranks(group)
        if id(rank.row) in chosen
    ]


def _references(group: Group) -> str:
    """Return the medians of the floors and references."""
    known = [f"{group.label(row)} {formatting.microseconds(row.p50)}" for row in group.references if row.ok]
    if not known:
        return ""
    return f" For comparison, no library to install: {formatting.join(formatting.first(known, 4))}."


def _median(words: str, row: Row) -> str:
    """`shm was fastest: half of …` with its interval."""
    half, known = LATENCIES[row.headline].format(p50=formatting.microseconds(row.p50)), bounds(row)
    return f"{words}: {half}" + (f" (95 % interval {formatting.interval(*known)})" if known else "")


def _times_floor(row: Row) -> str:
    ratio = row["times_floor"]
    return (
        "" if ratio is None or row.is_floor else f", {formatting.times(ratio)} the time of the cheapest transport here"
    )


def _tie(group: Group, first: Rank) -> str:
    names = formatting.first([group.label(row) for row in (first.row, *first.ties)], 4)
    slower = formatting.first([group.label(row) for row in group.choices if faster(first.row, row)], 4)
    rest = f" {group.label(first.row)} is faster than {formatting.join(slower)}." if slower else ""
    return (
        f"{formatting.join(names)} do not differ significantly: their intervals overlap. The lowest median is "
        f"{formatting.microseconds(first.row.p50)}.{rest}"
    )


def _lead(group: Group, ranked: Sequence[Rank]) -> str:
    """Return the least factor to the next row that both intervals allow."""
    mine, next_one = bounds(ranked[0].row), bounds(ranked[1].row)
    if mine is None or next_one is None or mine[1] <= 0:
        return ""
    factor = formatting.times(next_one[0] / mine[1])
    return f"; the next, {group.label(ranked[1].row)}, took at least {factor} as long"


def summary(groups: Sequence[Group]) -> str:
    """Describe many groups in one sentence: the rows proved fastest, and how many groups have none."""
    firsts = [(group, choice_ranks(group)[0]) for group in groups]
    clear = Counter(group.label(rank.row) for group, rank in firsts if rank.best is not None and not rank.ties)
    total = formatting.plural(len(groups), "comparison")
    if not clear:
        return f"In {total}, no row is significantly faster than all others."
    fastest = formatting.join([f"{name} was fastest in {many}" for name, many in clear.most_common()])
    others = len(groups) - clear.total()
    rest = f"; in the other {others}, no row is significantly faster than all others" if others else ""
    return f"Of {total}, {fastest}{rest}."


def caution(runs: Sequence[Run]) -> list[str]:
    """Return what to know together with the answer."""
    quick = "This is a quick look: it shows orders of magnitude, not small differences."
    words = [f"{quick} {next_sentence(run)}" for run in [run for run in runs if run.quick][:1]]
    saturated = sorted({row["transport"] for run in runs for row in run.measured_rows if row["status"] == "saturated"})
    if saturated:
        words.append(f"{formatting.join(saturated)} could not keep up everywhere; those rows are not ranked.")
    return words
