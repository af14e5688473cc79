"""The table in the terminal: which transport is fast under which conditions, as far as the intervals prove it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from hopmeter.analysis.cost.pair_limits import echoes
from hopmeter.analysis.latency.intervals import LEAST_TRIALS
from hopmeter.analysis.latency.percentiles import PERMILLE, least_count
from hopmeter.analysis.results.groups import Group, groups, name_in_table
from hopmeter.analysis.results.row_order import Rank, ranks
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.cli.parts import remarks
from hopmeter.cli.parts.plan_table import shorten
from hopmeter.cli.parts.workload_table import print_workload, verdict_text
from hopmeter.model.columns import unit
from hopmeter.report import conditions, formatting, limits_table
from hopmeter.report.clock_sentences import claim_sentences, comparison_sentences
from hopmeter.report.company_words import alone_text, background_sentence
from hopmeter.report.copy_sentences import copy_sentences
from hopmeter.report.growth_sentences import growth_sentence
from hopmeter.report.highest_rates import search_groups
from hopmeter.report.host_words import hosts_sentence
from hopmeter.report.idle_sentences import idle_sentence
from hopmeter.report.precision_sentence import precision_sentence
from hopmeter.report.ranking_table import answer_lines
from hopmeter.report.requirement_sentences import order_by_requirements
from hopmeter.report.tail_sentences import tail_sentence
from hopmeter.report.unlike_rows import unlike_sentences
from hopmeter.report.warning_rules import setting_hints
from hopmeter.report.workload_words import growth_text, is_part, is_whole, missed_text
from hopmeter.system.tables import open_table, print_whole, width
from hopmeter.system.terminal import Console

NAMES = ("", "transport", "language")
BEST = "×best (95 %)"
"""The median as a multiple of the best row's, which runs of earlier versions do not have."""
STATISTICS = ("p50 µs (95 %)", "p99 µs (95 %)", BEST, "×floor", "CPU µs", "CPU %")
LEAST_IMPORTANT = ("trials", "CPU µs", "×floor", BEST, "CPU %")
"""The columns that a narrow terminal leaves out, in this order."""
EARLY = "×best has the interval of an earlier look, which decided it."
OF_PROCESSES = ("×floor", "CPU µs", "CPU %")
"""The columns that a flow or path of a workload does not have: its processes carry other flows too."""
SAMPLED = "cpu_percent_mean"
MISSED, ALONE = "miss_share", "times_alone"
HEADS = {SAMPLED: "CPU %\nsampled", MISSED: "late %\n(95 %)", ALONE: "×alone\n(95 %)"}
TEXTS: dict[str, Callable[[Row], str]] = {MISSED: missed_text, ALONE: alone_text}
"""The columns that are shown together with their intervals."""
ALWAYS_SHOWN = {
    *("response_p50_us", "response_p99_us", "times_floor", "cpu_us_per_message", "cpu_core_percent", "lost", "status"),
    SAMPLED,
}


def print_run(console: Console, run: Run) -> None:
    """Print the tables of a run, one for each group of comparable rows."""
    console.print()
    console.print(Text(run.text("question"), style="bold"))
    searches = [each.sentence for each in search_groups([run])]
    for sentence in [*searches, *map(limits_table.sentence, echoes([run])), *copy_sentences([run])]:
        console.print(Text(sentence))
    tables = groups([run])
    columns = [each for each in run.about.get("columns") or [] if each not in ALWAYS_SHOWN]
    for group in tables:
        _print_group(console, group, columns, with_references=all(map(_is_one_reference, tables)))
    if any(row["status"] == "ok" for row in run.rows):
        _print_legend(console, run)
    remarks.print_remarks(console, run, has_tables=True)


def _print_group(console: Console, group: Group, columns: Sequence[str], with_references: bool) -> None:
    """Print one table; `columns` are the columns that the scenario adds, without a second median of the same latency.

    A group of one reference gets a sentence, and a table only `with_references`.
    """
    medians = {f"{row.headline}_p50_us" for row in group.rows}
    extra = [name for name in (SAMPLED, MISSED, ALONE) if any(row.get(name) is not None for row in group.rows)]
    shown = [*(each for each in columns if each not in medians), *(name for name in extra if name not in columns)]
    title = conditions.title(group)
    chips = [chip for chip in conditions.chips(group) if chip not in title]
    console.print()
    console.print(Text(f"{title}  ", style="bold cyan") + Text(", ".join(chips), style="dim"))
    first, *more = answer_lines(group)
    console.print(Text(first))
    for sentence in more:
        console.print(Text(_indent(sentence, console.width), style="dim"))
    if is_whole(group):
        print_workload(console, group)
        return
    if not with_references and _is_one_reference(group):
        return
    left_out = [*_repeated_columns(group), *(OF_PROCESSES if is_part(group) else [])]
    table = _table(group, shown, left_out)
    for name in LEAST_IMPORTANT:
        if console.is_terminal and width(console, table) > console.width:
            left_out.append(name)
            table = _table(group, shown, left_out)
    print_whole(console, table)
    _print_hints(console, group)


def _print_hints(console: Console, group: Group) -> None:
    """Print the settings that explain lost messages or an overload of rows, below their table."""
    for text, rows in setting_hints(group.rows):
        named = formatting.join(formatting.distinct(map(group.label, rows)))
        console.print(Text(_indent(f"{named}: {text}", console.width), style="yellow"))


def _indent(sentence: str, columns: int) -> str:
    return textwrap.fill(
        sentence, columns, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _is_one_reference(group: Group) -> bool:
    """Return whether a group has only one reference, whose median the sentence has."""
    return len(group.rows) == 1 and group.rows[0].ok and not group.rows[0].recommendable


def _repeated_columns(group: Group) -> list[str]:
    """Return the column that says nothing new: the ratio to the best without rounds, or to the floor if it is the
    best."""
    if all(row["ratio_to_best"] is None for row in group.rows):
        return [BEST]
    return ["×floor"] if any(row.is_floor and row["ratio_to_best"] == 1 for row in group.rows) else []


def _table(group: Group, columns: Sequence[str], left_out: Collection[str]) -> Table:
    """Return the table of a group without the columns that are left out."""
    table = open_table(gap=1 if columns else 2)
    heads = [*NAMES, *STATISTICS, *map(_head, columns), "lost", "trials", ""]
    shown = [place for place, head in enumerate(heads) if head not in left_out]
    for place in shown:
        is_text = place < len(NAMES) or place == len(heads) - 1
        table.add_column(
            heads[place],
            justify="left" if is_text else "right",
            no_wrap=place < len(heads) - 1,
            overflow="fold" if place == len(heads) - 1 else "ellipsis",
        )
    for number, (row, line) in enumerate(zip(_rows_in_order(group), _lines(group, columns), strict=True)):
        if number == len(group.choices):
            table.add_row()
        table.add_row(*(line[place] for place in shown), style=_style(row))
    return table


def _rows_in_order(group: Group) -> list[Row]:
    """Return the rows to install, then the references; within both, rows that meet the requirements come first."""
    return [*order_by_requirements(group, group.choices), *order_by_requirements(group, group.references)]


def _lines(group: Group, columns: Sequence[str]) -> list[list[str | Text]]:
    known = {id(rank.row): rank for rank in ranks(group)}
    rows = _rows_in_order(group)
    kinds = ((_median, formatting.bracket), (_tail, formatting.bracket), (_ratio, formatting.ratio_bracket))
    texts = [_aligned_texts([bounds(row) for row in rows], text) for bounds, text in kinds]
    marked = [
        [_mark_lost(row, column, text) for row, text in zip(rows, each, strict=True)]
        for column, each in zip(("p50", "p99"), texts, strict=False)
    ]
    bounded = zip(*marked, texts[-1], strict=True)
    return [
        _line(row, [name_in_table(row, group.rows), str(row["language"])], known.get(id(row)), values, columns)
        for row, values in zip(rows, bounded, strict=True)
    ]


Bounds = tuple[float | None, float | None, float | None]
Bracket = Callable[[float | None, float | None], str]


def _median(row: Row) -> Bounds:
    return row.p50 if row["status"] == "ok" else None, *row.interval("p50")


def _tail(row: Row) -> Bounds:
    """Return p99, which is shown only with its interval."""
    return row.tail("p99") if row["status"] == "ok" else None, *row.interval("p99")


def _mark_lost(row: Row, column: str, text: str) -> str:
    """Return `lost`, as wide as the other texts of its column, for a percentile that is a lost message."""
    is_missing = text.strip() == formatting.NOTHING and row["status"] == "ok"
    return f"{formatting.LOST:{len(text)}}" if is_missing and row.state(column) == "lost" else text


def _ratio(row: Row) -> Bounds:
    return row["ratio_to_best"], row["ratio_to_best_low"], row["ratio_to_best_high"]


def _aligned_texts(values: Sequence[Bounds], bracket: Bracket = formatting.bracket) -> list[str]:
    """Return `594 (303–1,443)` for each value; the brackets are aligned. The best row is 1 without an interval."""
    texts = [
        (formatting.number(value), "" if value is None or value == low == high else bracket(low, high))
        for value, low, high in values
    ]
    widths = [max((len(text[part]) for text in texts), default=0) for part in (0, 1)]
    return [f"{value:>{widths[0]}} {end:<{widths[1]}}" for value, end in texts]


def _head(column: str) -> str:
    """Return the short heading of a column: `chain_per_hop_p50_us` is `hop p50 µs`."""
    if column in HEADS:
        return HEADS[column]
    name, its_unit = unit(column.removeprefix("chain_per_"))
    first, _, rest = name.replace("_", " ").partition(" ")
    return f"{first}\n{' '.join(filter(None, (rest, its_unit)))}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(_value(each) for each in value)
    return formatting.number(value) if isinstance(value, int | float) else str(value or formatting.NOTHING)


def _line(
    row: Row, names: Sequence[str], rank: Rank | None, latencies: Sequence[str], columns: Sequence[str]
) -> list[str | Text]:
    if row["status"] != "ok":
        trouble = ": ".join(filter(None, [str(row["status"]), shorten(str(row["reason"] or ""))]))
        return ["", *names, *[""] * (len(STATISTICS) + len(columns)), _loss(row), _trials(row), trouble]
    return [
        rank.text if rank else "",
        *names,
        *latencies,
        *(formatting.number(row[name]) for name in ("times_floor", "cpu_us_per_message", "cpu_core_percent")),
        *(_bounded_text(row, column) if column in TEXTS else _value(row.get(column)) for column in columns),
        _loss(row),
        _trials(row),
        ", ".join(filter(None, _remarks(row))),
    ]


def _bounded_text(row: Row, column: str) -> Text:
    """Return a value with its interval; missed deadlines are red."""
    return Text(TEXTS[column](row), style="red" if column == MISSED and row["misses"] else "")


def _remarks(row: Row) -> list[str]:
    early = "stopped early" if row["stopped_early"] else ""
    behind = f"reader falls behind by {growth_text(row)}" if row["backlog_ms_per_s"] else ""
    return [verdict_text(row), _role(row), early, behind, formatting.empty_hop(row["empty_hop_us"])]


def _role(row: Row) -> str:
    """Return why a row is no choice: it is a floor, no library, or not ranked."""
    if row.is_floor and not row.recommendable:
        return "floor"
    return "reference" if row["installable"] is False else "" if row.candidate else "not ranked"


def _loss(row: Row) -> str:
    return formatting.percent(row.loss) if row["sent"] else formatting.NOTHING


def _trials(row: Row) -> str:
    return f"{row['trials_good'] or 0}/{row['trials'] or 0}"


def _style(row: Row) -> str:
    if row["status"] != "ok":
        return "red" if row["status"] == "failed" else "yellow"
    return "" if row.recommendable else "dim"


def _print_legend(console: Console, run: Run) -> None:
    """Print what the tables mean, and which answer is the reader's."""
    console.print()
    console.print(Text(" ".join(_notes(run)), style="dim"))
    unlike, idle = unlike_sentences(groups([run])), idle_sentence([run], groups([run]))
    hosts, background = hosts_sentence(run.measured_rows), background_sentence(run.measured_rows)
    clocks = [*claim_sentences([run]), *comparison_sentences(run)]
    tail, growth = tail_sentence(groups([run])), growth_sentence(run)
    for sentence in filter(None, [*unlike, hosts, background, tail, growth, precision_sentence(run), *idle, *clocks]):
        console.print(Text(sentence))


def _notes(run: Run) -> list[str]:
    """Return the explanations of what this run's tables have."""
    rows = run.measured_rows
    few = f"{formatting.NOTHING}: not enough messages or trials for this percentile and its interval"
    if any(row["status"] == "ok" and row.p50 is None and row.state("p50") != "lost" for row in rows):
        few = f"{few}; a median needs {least_count(PERMILLE['p50'])} messages"
    no_interval = (
        f"({formatting.NO_INTERVAL}): no interval, since trials differ too much or fewer than {LEAST_TRIALS} are good."
    )
    notes = (
        ("Brackets: 95 % interval. Rows with the same rank do not differ significantly.", lambda row: row.ok),
        (no_interval, lambda row: row.ok and _has_open_bracket(row)),
        ("CPU %: share of one core at this rate, all processes.", lambda row: row["cpu_core_percent"] is not None),
        (f"{few}.", lambda _: True),
        (f"{formatting.LOST}: so many messages never arrived that this percentile has no time.", _shows_lost),
        (
            "×alone: the median alongside the other flows, divided by that of the flow alone.",
            lambda row: row["times_alone"] is not None,
        ),
        (
            "floor, reference: no library to install, without a rank beside one.",
            lambda row: row["installable"] is False,
        ),
        (f"stopped early: {EARLY}", lambda row: row["stopped_early"]),
        (formatting.EMPTY_HOP, lambda row: row["empty_hop_us"] is not None),
        ("This is a quick look with few, short trials.", lambda _: run.quick),
    )
    return [text for text, applies in notes if any(map(applies, rows))]


def _shows_lost(row: Row) -> bool:
    """Return whether the table calls a percentile of the row lost."""
    return row["status"] == "ok" and "lost" in (row.state("p50"), row.state("p99"))


def _has_open_bracket(row: Row) -> bool:
    """Return whether the row shows `(?)`."""
    shown = [bounds[1:] for bounds in (_median(row), _ratio(row)) if bounds[0] is not None]
    return formatting.bracket(None, None) in [formatting.bracket(*ends) for ends in shown]
