"""The answer of a report: one or two sentences for each question, the most important first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hopmeter.analysis.cost.pair_limits import most_pairs
from hopmeter.analysis.results.encrypted_rows import compares_encryption
from hopmeter.analysis.results.groups import Group, families
from hopmeter.analysis.results.row_order import ranks
from hopmeter.analysis.results.run_results import Run
from hopmeter.comparison.interleaved import is_comparable
from hopmeter.report.answers.clock_sentences import claim_sentences, comparison_sentences
from hopmeter.report.answers.comparison_sentences import lead_sentences
from hopmeter.report.answers.copy_sentences import copy_sentences
from hopmeter.report.answers.growth_sentences import growth_sentence
from hopmeter.report.answers.idle_sentences import as_it_is, idle_sentence
from hopmeter.report.answers.next_command import next_sentence
from hopmeter.report.answers.precision_sentence import precision_sentence
from hopmeter.report.answers.requirement_sentences import requirement_sentences
from hopmeter.report.answers.unlike_rows import unlike_sentences
from hopmeter.report.answers.work_sentences import work_sentences
from hopmeter.report.answers.workload_answer import answer_sentences
from hopmeter.report.comparisons import section as comparisons
from hopmeter.report.sections import limits_table
from hopmeter.report.sections.highest_rates import search_groups
from hopmeter.report.tables import throughput
from hopmeter.report.tables.security import security_sentences
from hopmeter.report.words import codec_rows, conditions, formatting
from hopmeter.report.words.workload_words import is_part, is_whole, workload_name

SPELLED_OUT = 3
"""If there are more questions than this number, one sentence summarises the answers to all questions."""


def answer(runs: Sequence[Run], groups: Sequence[Group]) -> list[str]:
    """Return the answer in sentences, the most important first. For a run with two sides, the sentences compare the two
    sides."""
    two = [run for run in runs if is_comparable(run)]
    if not two:
        return _order(runs, groups)
    others = [run for run in runs if not is_comparable(run)]
    ranked = [group for group in groups if not group.has_sides]
    return [*comparisons.sentences(two), *caution(two), *(_order(others, ranked) if others else [])]


def _order(runs: Sequence[Run], groups: Sequence[Group]) -> list[str]:
    """Return a sentence on the fastest transport for each question."""
    if whole := [group for group in groups if is_whole(group)]:
        return [*_workloads(whole, groups), *unlike_sentences(groups), *caution(runs)]
    special = [*throughput.sentences(runs), *(each.sentence for each in search_groups(runs))]
    special += [*map(limits_table.sentence, most_pairs(runs)), *work_sentences(groups), *copy_sentences(runs)]
    special += security_sentences(runs)
    measured = _measured_groups(groups)
    several = _ordered_groups(runs, measured)
    if not several:
        references = [] if special else [lead_sentences(group)[0] for group in _reference_groups(measured)]
        none = ["No cell of this run has a latency to show. The reasons are listed below."]
        return [*special, *references, *caution(runs)] if special or references else none
    return [
        *special,
        *_by_codec(measured),
        *_by_question(several),
        *unlike_sentences(measured),
        *idle_sentence(runs, measured),
        *caution(runs),
    ]


def _workloads(whole: Sequence[Group], groups: Sequence[Group]) -> list[str]:
    """Return the answer for each workload, a summary of the workload's flows and paths, and the answers of all other
    tables."""
    parts = [group for group in groups if is_part(group) and len(ranks(group)) > 1]
    ordinary = [group for group in groups if group.rows[0].cell.workload is None and len(ranks(group)) > 1]
    several = len(whole) > 1
    found = [
        f"{workload_name(group)}: {each}" if several else each for group in whole for each in answer_sentences(group)
    ]
    return [*found, *([f"Flows and paths: {summary(parts)}"] if len(parts) > 1 else []), *_by_question(ordinary)]


def groups_in_answer(runs: Sequence[Run], groups: Sequence[Group]) -> list[Group]:
    """Return the groups whose first sentence is part of the answer, so that the report can omit the sentence."""
    if any(map(is_comparable, runs)):
        return []
    if whole := [group for group in groups if is_whole(group)]:
        return whole
    measured = _measured_groups(groups)
    several = _ordered_groups(runs, measured)
    return several if len(families(several, (conditions.IDLE,))) <= SPELLED_OUT else []


def _measured_groups(groups: Sequence[Group]) -> list[Group]:
    """Return the groups whose order answers a question: all groups except searches and comparisons of encryption."""
    others = [group for group in groups if not compares_encryption(group)]
    return [group for group in others if not all(row.cell.comparison.search for row in group.rows)]


def _ordered_groups(runs: Sequence[Run], groups: Sequence[Group]) -> list[Group]:
    """Return the groups that rank several rows. If no group ranks several rows, return the groups with a single ranked
    row, unless the run compares copy methods."""
    compared = [group for group in groups if ranks(group)]
    several = [group for group in compared if len(ranks(group)) > 1]
    return several or ([] if copy_sentences(runs) else compared)


def _reference_groups(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if group.measured_rows][:SPELLED_OUT]


def _by_question(groups: Sequence[Group]) -> list[str]:
    """Return the sentences that answer each question.

    Groups that differ only in idle states form one question. The sentence with the result of a question is about the
    group measured with idle cores kept awake.
    """
    questions = families(groups, (conditions.IDLE,))
    if len(questions) > SPELLED_OUT:
        return [summary(groups)]
    found: list[str] = []
    for family in questions:
        needs = [_for(group, each) for group in family for each in requirement_sentences(group)[:1]]
        deciding = deciding_group(family)
        others = [as_it_is(group) for group in family if group is not deciding]
        found += [*needs, lead_sentences(deciding)[0], *others]
    return found


def deciding_group(family: Sequence[Group]) -> Group:
    """Return the first group with idle cores kept awake, or the first group if no group keeps cores awake."""
    return next((group for group in family if group.conditions[conditions.IDLE]), family[0])


def _for(group: Group, sentence: str) -> str:
    """Prefix a sentence with its subject, as in `For a 64-byte message at 1,000 Hz, …`."""
    rest = f"no{sentence[2:]}" if sentence.startswith("No ") else sentence
    return f"For {conditions.subject(group)}, {rest}"


def _by_codec(groups: Sequence[Group]) -> list[str]:
    """Return sentences on the fastest codec over each transport. Return an empty list if no transport was measured with
    several codecs."""
    found = codec_rows.codecs_by_transport(groups)
    if len(found) <= SPELLED_OUT:
        return [lead_sentences(group, title)[0] for title, group in found.items()]
    return [f"Codecs over each transport: {summary(list(found.values()))}"]


def summary(groups: Sequence[Group]) -> str:
    """Summarise many groups in one sentence: how often each row was significantly fastest, and how many groups have no
    fastest row."""
    firsts = [(group, ranks(group)[0]) for group in groups]
    clear = Counter(group.label(rank.row) for group, rank in firsts if rank.best is not None and not rank.ties)
    total = formatting.plural(len(groups), "comparison")
    if not clear:
        return f"None of {total} has a row that is significantly faster than all others."
    fastest = formatting.join([f"{name} was fastest in {many}" for name, many in clear.most_common()])
    others = len(groups) - clear.total()
    rest = f"; in the other {others}, no row is significantly faster than all others" if others else ""
    return f"Of {total}, {fastest}{rest}."


def caution(runs: Sequence[Run]) -> list[str]:
    """Return the warnings that qualify the answer, and the command to run next."""
    quick = "This is a quick look: it shows orders of magnitude, not small differences."
    words = [sentence for run in runs for sentence in (growth_sentence(run), precision_sentence(run)) if sentence]
    words += [*claim_sentences(runs), *(sentence for run in runs for sentence in comparison_sentences(run))]
    words += [f"{quick if run.quick else ''} {sentence}".strip() for run in runs if (sentence := next_sentence(run))]
    for status, says in (
        ("saturated", "could not keep up in at least one cell; such cells are not ranked"),
        ("failed", "failed"),
    ):
        names = sorted({row["transport"] for run in runs for row in run.measured_rows if row["status"] == status})
        words += [f"{formatting.join(names)} {says}."] if names else []
    return words
