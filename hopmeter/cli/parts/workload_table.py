"""The table of a whole workload in the terminal: what ranks its transports, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from hopmeter.analysis.results.groups import Group, name_in_table
from hopmeter.analysis.results.run_results import Row
from hopmeter.cli.parts.plan_table import shorten
from hopmeter.model.requirement_verdict import unmet
from hopmeter.report import formatting
from hopmeter.report.requirement_sentences import order_by_requirements
from hopmeter.report.workload_table import DECIDED_BY, rank_text
from hopmeter.report.workload_words import behind_text, kept_bracket, kept_percent, kept_share, part_missed_text
from hopmeter.system.tables import open_table, print_whole, width
from hopmeter.system.terminal import Console

HEADS = ("", "transport", "language", "deadlines kept", "worst p99", "CPU %", "lost", "decided by", "trials", "")
LEAST_IMPORTANT = ("trials", "language", "decided by")
"""The columns that a narrow terminal leaves out, in this order."""
TEXTS = ("", "transport", "language", "decided by")
NOTES = (
    "deadlines kept: of all messages with a deadline. worst p99: of the flow whose p99 is the most times that of the "
    "best transport for this flow. CPU %: share of one core, all participants. The deadlines rank, then the worst p99, "
    "then CPU."
)


def print_workload(console: Console, group: Group) -> None:
    """Print the table of a whole workload."""
    left_out: list[str] = []
    table = _table(group, left_out)
    for name in LEAST_IMPORTANT:
        if console.is_terminal and width(console, table) > console.width:
            left_out.append(name)
            table = _table(group, left_out)
    print_whole(console, table)
    console.print(Text(NOTES, style="dim"))


def _table(group: Group, left_out: Sequence[str]) -> Table:
    table = open_table()
    shown = [place for place, head in enumerate(HEADS) if head not in left_out]
    for place in shown:
        is_last = place == len(HEADS) - 1
        table.add_column(
            HEADS[place],
            justify="left" if HEADS[place] in TEXTS else "right",
            no_wrap=not is_last,
            overflow="fold" if is_last else "ellipsis",
        )
    rows = [*order_by_requirements(group, group.choices), *group.references]
    for number, row in enumerate(rows):
        if number == len(group.choices):
            table.add_row()
        line = _line(group, row)
        table.add_row(*(line[place] for place in shown), style=_style(row))
    return table


def _line(group: Group, row: Row) -> list[Text]:
    trials = f"{row['trials_good'] or 0}/{row['trials'] or 0}"
    names = [name_in_table(row, group.rows), str(row["language"])]
    if row["status"] != "ok":
        trouble = f"{row['status']}: {shorten(str(row['reason'] or ''))}"
        return [Text(each) for each in ("", *names, "", "", "", "", "", trials, trouble)]
    decided = DECIDED_BY.get(str(row["decided_by"]), "")
    values = [_kept_text(row), Text(_worst(row)), Text(_cpu(row)), _lost(row)]
    return [
        Text(rank_text(row)),
        *map(Text, names),
        *values,
        *map(Text, (decided, trials, ", ".join(filter(None, _remarks(row))))),
    ]


def _kept_text(row: Row) -> Text:
    share, low, high = kept_share(row)
    text = formatting.NOTHING if share is None else f"{kept_percent(share)} {kept_bracket(low, high)}"
    return Text(text, style="red" if row["misses"] else "")


def _worst(row: Row) -> str:
    ratio = row["worst_p99_ratio"]
    if ratio is None:
        return formatting.NOTHING
    ends = formatting.ratio_bracket(row["worst_p99_ratio_low"], row["worst_p99_ratio_high"])
    return formatting.times(ratio) if ratio == 1 else f"{formatting.times(ratio)} {ends} {row['worst_flow']}"


def _cpu(row: Row) -> str:
    ends = formatting.bracket(row["cpu_core_percent_low"], row["cpu_core_percent_high"])
    return f"{formatting.number(row['cpu_core_percent'])} {ends}"


def _lost(row: Row) -> Text:
    return Text(formatting.percent(row.loss) if row["sent"] else formatting.NOTHING, style="red" if row.loss else "")


def verdict_text(row: Row) -> str:
    """Return `meets`, or what a row misses or leaves undecided."""
    return "; ".join(unmet(row["require_each"])) or row["require"] or ""


def _remarks(row: Row) -> list[str]:
    return [
        verdict_text(row),
        "reference" if row["installable"] is False else "",
        part_missed_text(row),
        behind_text(row),
    ]


def _style(row: Row) -> str:
    return "red" if row["status"] == "failed" else "" if row.recommendable else "dim"
