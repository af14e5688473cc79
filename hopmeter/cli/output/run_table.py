"""Print the result tables, which rank the transports as far as their confidence intervals allow."""

from __future__ import annotations

import textwrap

from rich.text import Text

from hopmeter.analysis.cost.pair_limits import echoes
from hopmeter.analysis.latency.intervals import LEAST_TRIALS
from hopmeter.analysis.latency.percentiles import PERMILLE, least_count
from hopmeter.analysis.results.encrypted_rows import compares_encryption
from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.cli.output import remarks
from hopmeter.report.answers.clock_sentences import claim_sentences, comparison_sentences
from hopmeter.report.answers.copy_sentences import copy_sentences
from hopmeter.report.answers.growth_sentences import growth_sentence
from hopmeter.report.answers.idle_sentences import idle_sentence
from hopmeter.report.answers.precision_sentence import precision_sentence
from hopmeter.report.answers.tail_sentences import tail_sentence
from hopmeter.report.answers.unlike_rows import unlike_sentences
from hopmeter.report.sections import limits_table
from hopmeter.report.sections.highest_rates import search_groups
from hopmeter.report.tables.model import Table
from hopmeter.report.tables.run_tables import group_table
from hopmeter.report.tables.security import security_tables
from hopmeter.report.tables.terminal import print_table
from hopmeter.report.tables.throughput import CAPTION, throughput_tables
from hopmeter.report.words import formatting
from hopmeter.report.words.company_words import background_sentence
from hopmeter.report.words.host_words import hosts_sentence
from hopmeter.report.words.workload_words import is_whole
from hopmeter.system.terminal import Console

EARLY = "an earlier interim analysis decided this comparison, and ×best shows the interval of that analysis."


COMPANY = (hosts_sentence, background_sentence)
"""Functions that return sentences on the hosts of the nodes and on the background load."""


def print_run(console: Console, run: Run) -> None:
    """Print a run: its question, its answers, a table for each group of comparable rows, and remarks."""
    console.print()
    console.print(Text(run.text("question"), style="bold"))
    searches = [each.sentence for each in search_groups([run])]
    for sentence in [*searches, *map(limits_table.sentence, echoes([run])), *copy_sentences([run])]:
        console.print(Text(sentence))
    for table in (*throughput_tables([run]), *security_tables([run])):
        _print_heading(console, table)
        print_table(console, table)
    tables = groups([run])
    for group in tables:
        if compares_encryption(group):
            continue
        _print_group(console, group, with_references=all(map(_is_one_reference, tables)))
    if any(row["status"] == "ok" for row in run.rows):
        _print_legend(console, run)
    remarks.print_remarks(console, run, has_tables=True)


def _print_group(console: Console, group: Group, with_references: bool) -> None:
    """Print a group's heading, sentences and table. The table of a single reference is omitted unless `with_references`
    is set."""
    table = group_table(group)
    _print_heading(console, table)
    if not with_references and not is_whole(group) and _is_one_reference(group):
        return
    print_table(console, table)
    if is_whole(group):
        console.print(Text(table.caption, style="dim"))
    for hint in table.hints:
        console.print(Text(_indent(hint, console.width), style="yellow"))


def _print_heading(console: Console, table: Table) -> None:
    """Print a table's title, conditions and sentences."""
    chips = [chip for chip in table.chips if chip not in table.label]
    console.print()
    console.print(Text(f"{table.label}  ", style="bold cyan") + Text(", ".join(chips), style="dim"))
    first, *more = table.sentences
    console.print(Text(first))
    for sentence in more:
        console.print(Text(_indent(sentence, console.width), style="dim"))


def _indent(sentence: str, columns: int) -> str:
    return textwrap.fill(
        sentence, columns, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _is_one_reference(group: Group) -> bool:
    """Return whether a group consists of one reference. A sentence above the table already states the median of such a
    group."""
    return len(group.rows) == 1 and group.rows[0].ok and not group.rows[0].recommendable


def _print_legend(console: Console, run: Run) -> None:
    """Print the legend of the tables, and sentences about the whole run."""
    console.print()
    console.print(Text(" ".join(_notes(run)), style="dim"))
    tables = groups([run])
    if throughput_tables([run]):
        console.print(Text(CAPTION, style="dim"))
    unlike, idle = unlike_sentences(tables), idle_sentence([run], tables)
    # The table caption of a whole workload already names the hosts and the background load.
    company = [] if any(map(is_whole, tables)) else [sentence(run.measured_rows) for sentence in COMPANY]
    clocks = [*claim_sentences([run]), *comparison_sentences(run)]
    tail, growth = tail_sentence(tables), growth_sentence(run)
    for sentence in filter(None, [*unlike, *company, tail, growth, precision_sentence(run), *idle, *clocks]):
        console.print(Text(sentence))


def _notes(run: Run) -> list[str]:
    """Return explanations of the symbols in this run's tables."""
    rows = run.measured_rows
    few = f"{formatting.NOTHING}: not enough messages or trials for this percentile and its interval"
    if any(row["status"] == "ok" and row.p50 is None and row.state("p50") != "lost" for row in rows):
        few = f"{few}; a median needs {least_count(PERMILLE['p50'])} messages"
    sign = f"({formatting.NO_INTERVAL})"
    no_interval = f"{sign}: no interval, because the trials differ too much or fewer than {LEAST_TRIALS} are good."
    notes = (
        ("Brackets: 95 % interval. Rows with the same rank do not differ significantly.", lambda row: row.ok),
        (no_interval, lambda row: row.ok and _has_open_bracket(row)),
        (
            "CPU %: CPU of all processes at this rate, as a percentage of one core.",
            lambda row: row["cpu_core_percent"] is not None,
        ),
        (f"{few}.", lambda _: True),
        (f"{formatting.LOST}: so many messages were lost that this percentile has no value.", _shows_lost),
        (
            "×alone: the median alongside the other flows, divided by the median of the flow alone.",
            lambda row: row["times_alone"] is not None,
        ),
        (
            "floor, reference: not a library that you can install; not ranked together with libraries.",
            lambda row: row["installable"] is False,
        ),
        (f"stopped early: {EARLY}", lambda row: row["stopped_early"]),
        (formatting.EMPTY_HOP, lambda row: row["empty_hop_us"] is not None),
        ("This is a quick look with few or short trials.", lambda _: run.quick),
    )
    return [text for text, applies in notes if any(map(applies, rows))]


def _shows_lost(row: Row) -> bool:
    """Return whether the table shows `lost` for a percentile of the row."""
    return row["status"] == "ok" and "lost" in (row.state("p50"), row.state("p99"))


def _has_open_bracket(row: Row) -> bool:
    """Return whether the row shows `(?)` for a missing interval."""
    ratio = (row["ratio_to_best_low"], row["ratio_to_best_high"])
    shown = [ends for value, ends in ((row.p50, row.interval("p50")), (row["ratio_to_best"], ratio)) if value]
    return formatting.bracket(None, None) in [formatting.bracket(*ends) for ends in shown]
