"""Tables of a run, one for each group of comparable rows."""

from __future__ import annotations

from dataclasses import replace

from hopmeter.analysis.results.encrypted_rows import compares_encryption
from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.comparison import interleaved, missed
from hopmeter.comparison.interleaved import is_comparable
from hopmeter.report.answers.comparison_sentences import details, order_sentences, without_result
from hopmeter.report.answers.requirement_sentences import requirement_sentences
from hopmeter.report.answers.workload_answer import answer_sentences, undecided_sentences
from hopmeter.report.tables import ranking, workload
from hopmeter.report.tables.changes import change_tables
from hopmeter.report.tables.model import Table
from hopmeter.report.tables.security import security_tables
from hopmeter.report.tables.throughput import throughput_tables
from hopmeter.report.words.company_words import company_sentences
from hopmeter.report.words.workload_words import is_whole


def group_table(group: Group, in_answer: bool = False) -> Table:
    """Return the table of a group. If `in_answer` is set, omit the sentences that the page's answer already
    contains."""
    table = workload.table(group) if is_whole(group) else ranking.table(group)
    return replace(table, sentences=answer_lines(group, in_answer))


def run_tables(run: Run) -> list[Table]:
    """Return all tables of a run. For a run with two sides, the tables compare the two sides."""
    if is_comparable(run):
        return change_tables([*interleaved.compare_sides(run), *missed.compare_sides(run)])
    ranked = [group for group in groups([run]) if not compares_encryption(group)]
    return [*throughput_tables([run]), *security_tables([run]), *map(group_table, ranked)]


def answer_lines(group: Group, in_answer: bool = False) -> list[str]:
    """Return the sentences above a table, the most important first.

    If there are requirements, a single sentence states the order of the rows. If `in_answer` is set, omit the sentences
    that the page's answer already contains.
    """
    if is_whole(group):
        return [*([] if in_answer else answer_sentences(group)), *undecided_sentences(group)]
    order, *more = order_sentences(group)
    order = f"{order[:1].upper()}{order[1:]}" if order.startswith(("the ", "there ", "no ")) else order
    needs = requirement_sentences(group)
    further = [*company_sentences(group), *(without_result(group) if needs else [*more, *details(group)])]
    return [*needs[1:], *further] if in_answer else [*needs, order, *further]
