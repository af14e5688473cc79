"""Sentences on the best transport for a workload, the deciding criteria, failures and undecided pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.analysis.workload.workload_ranking import CPU, DEADLINES, TAIL, WorkloadRanking
from hopmeter.report.answers.comparison_sentences import MOST_ROUNDS, name
from hopmeter.report.answers.requirement_sentences import requirement_sentences
from hopmeter.report.words import formatting
from hopmeter.report.words.workload_words import cpu_text, growth_text, missed_text, slow_flows, worst_text
from hopmeter.statistics.detection import pair_rounds_needed

TEXTS: dict[str, Callable[[Row], str]] = {DEADLINES: missed_text, TAIL: worst_text, CPU: cpu_text}
"""Functions that format a row's value, by criterion."""
BEST = {
    DEADLINES: "misses the fewest deadlines",
    TAIL: "has the best p99 in its worst flow",
    CPU: "uses the least CPU",
}
BETTER = {DEADLINES: "misses fewer deadlines", TAIL: "has a better p99 in its worst flow", CPU: "uses less CPU"}
ALIKE = {DEADLINES: "missed deadlines", TAIL: "worst p99", CPU: "CPU"}
"""The name of each criterion in sentences about rows that do not differ significantly."""
LEFT_OUT = {DEADLINES: "No flow or path has a deadline.", TAIL: "No flow has enough messages for a p99."}
"""The reason why a criterion was not applied."""
MOST_NAMES = 4


def answer_sentences(group: Group) -> list[str]:
    """Return sentences on the ranking of the transports for a whole workload, and on the workload's requirements if
    there are any."""
    rows = ranked_rows(group)
    if not rows:
        return [*_without_rank(group), *_failures(group)]
    lead = (
        _lead(group, rows) if len(rows) > 1 else f"{name(group, rows[0])} is the only ranked row: {_values(rows[0])}."
    )
    return [
        *requirement_sentences(group),
        lead,
        *_left_out(rows),
        *_readers(group, rows),
        *_failures(group),
        *_references(group),
    ]


def _without_rank(group: Group) -> list[str]:
    """Return sentences on the results of unranked rows, such as references."""
    carried = [row for row in group.choices if row["status"] == "ok"]
    if not carried:
        return ["No transport carried the whole workload; the reasons are below."]
    said = formatting.first([f"{name(group, row)}: {_values(row)}" for row in carried], MOST_NAMES, "other row")
    return [f"{'; '.join(said)}.", "These rows are for comparison only, so they have no rank."]


def ranked_rows(group: Group) -> list[Row]:
    """Return the ranked choices of the given workload, best first."""
    return [row for row in group.choices if row["status"] == "ok" and row["rank_low"] is not None]


def _lead(group: Group, rows: Sequence[Row]) -> str:
    """Return a sentence that compares the best transport with the other transports, criterion by criterion."""
    first, *others = rows
    ranking = ranking_of(first)
    if ranking is None:
        return f"Missed deadlines: {_list(group, rows, DEADLINES)}."
    parts, left, alike = [], others, list[str]()
    for criterion in ranking.pairs:
        behind = [row for row in left if ranking.decides(first.id, row.id) == criterion]
        if behind and alike:
            parts.append(_alike(group, first, left, alike))
        left = [row for row in left if row not in behind]
        parts += [_part(group, criterion, first, behind, left)] if behind else []
        alike = [] if behind else [*alike, criterion]
    parts += [_alike(group, first, left, list(ranking.pairs))] if left else []
    return f"{'; '.join(parts)}."


def _part(group: Group, criterion: str, first: Row, behind: Sequence[Row], left: Sequence[Row]) -> str:
    """Return why the first row is better than lower rows, such as `A misses the fewest deadlines: 2 % (…), B 4 %
    (…)`."""
    does = BETTER[criterion] if left else BEST[criterion]
    return f"{name(group, first)} {does}: {TEXTS[criterion](first)}, {_list(group, behind, criterion)}"


def _list(group: Group, rows: Sequence[Row], criterion: str) -> str:
    return ", ".join(formatting.first([f"{name(group, row)} {TEXTS[criterion](row)}" for row in rows], MOST_NAMES))


def _alike(group: Group, first: Row, others: Sequence[Row], criteria: Sequence[str]) -> str:
    """Return a sentence on the criteria in which the first row does not differ significantly from the other rows. If
    deadlines are one of the criteria, the sentence includes the shares of missed deadlines."""
    best, *names = [name(group, row) for row in (first, *others)]
    listed = formatting.join(formatting.first(names, MOST_NAMES))
    who = f"{best} and {listed} do not differ" if len(names) == 1 else f"{best} does not differ"
    whom = "" if len(names) == 1 else f" from {listed}"
    *more, last = [ALIKE[each] for each in criteria]
    what = f"{', '.join(more)} or {last}" if more else last
    missed = f": {_misses((first, *others)[: 1 + MOST_NAMES])} of the deadlines" if DEADLINES in criteria else ""
    return f"{who} significantly{whom} in {what}{missed}"


def _misses(rows: Sequence[Row]) -> str:
    """Return the shares of deadlines that the rows miss, such as `they miss 0.40 % and 0.60 %`."""
    known = formatting.distinct(missed_text(row) for row in rows)
    return f"each misses {known[0]}" if len(known) == 1 else f"they miss {formatting.join(known)}"


def _left_out(rows: Sequence[Row]) -> list[str]:
    ranking = ranking_of(rows[0]) if len(rows) > 1 else None
    return [said for criterion, said in LEFT_OUT.items() if ranking and criterion not in ranking.pairs]


def _values(row: Row) -> str:
    misses = [f"misses {missed_text(row)} of the deadlines"] if missed_text(row) else []
    return f"it {formatting.join([*misses, *([f'uses {cpu_text(row)}'] if cpu_text(row) else [])])}"


def ranking_of(row: Row) -> WorkloadRanking | None:
    """Return the workload ranking of a row's table, or None if the run recorded no ranking."""
    return row.run.workload_rankings.get(row.cell.group)


def _readers(group: Group, rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each flow whose receiver falls behind, with the affected transports."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for part in slow_flows(row):
            found.setdefault(str(part["flow"]), []).append(f"{name(group, row)} (by {growth_text(part)})")
    return [
        f"The reader of {flow} falls behind over {formatting.join(formatting.first(over, MOST_NAMES))}."
        for flow, over in found.items()
    ]


def _failures(group: Group) -> list[str]:
    failed = [name(group, row) for row in group.choices if row["status"] == "failed"]
    return [f"{formatting.join(failed)} failed."] if failed else []


def _references(group: Group) -> list[str]:
    """Return a sentence on the deadlines that the references miss."""
    known = [row for row in group.references if row["status"] == "ok" and missed_text(row)]
    return (
        [f"For comparison, the deadlines that the references miss: {_list(group, known, DEADLINES)}."] if known else []
    )


def open_pairs(group: Group) -> Iterator[tuple[Row, Row, int | None]]:
    """Yield each choice that does not differ significantly from the first row, with the number of rounds needed to
    decide the pair. The number of rounds is None if the pair needs too many rounds."""
    rows = ranked_rows(group)
    ranking = ranking_of(rows[0]) if rows else None
    if ranking is None:
        return
    for other in rows[1:]:
        if not ranking.decides(rows[0].id, other.id):
            yield rows[0], other, _rounds_needed(ranking, rows[0].id, other.id)


def _rounds_needed(ranking: WorkloadRanking, one: str, other: str) -> int | None:
    """Return the number of rounds needed to decide the pair by at least one criterion in 80 % of cases. Return None if
    the pair needs too many rounds."""
    pairs = [pair for criterion in ranking.pairs if (pair := ranking.pair(criterion, one, other))]
    known = [needed for pair in pairs if (needed := pair_rounds_needed(pair)) is not None]
    more = max(min(known, default=0), 1 + min(ranking.rounds[one], ranking.rounds[other]))
    return more if known and more <= MOST_ROUNDS else None


def undecided_sentences(group: Group) -> list[str]:
    """Return a sentence on the undecided pairs and the number of rounds needed to decide each pair. Return an empty
    list if no pair is undecided."""
    words = [
        f"{name(group, one)} and {name(group, other)} ({_needs(rounds)})" for one, other, rounds in open_pairs(group)
    ]
    return [f"Undecided pairs: {'; '.join(formatting.first(words, 2, 'other pair'))}."] if words else []


def _needs(rounds: int | None) -> str:
    return f"about {rounds} rounds would decide" if rounds else f"{MOST_ROUNDS} rounds would not decide"
