"""Prints a history: a table for each group of cells."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from hopmeter.analysis.history.cell_history import METRICS, History, Series
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report import conditions, formatting
from hopmeter.report.history_words import cell_name, changes_in_words, summary
from hopmeter.system.tables import open_table, print_whole
from hopmeter.system.terminal import Console

HEADS = ("cell", "runs", "p50 µs", "p99 µs", "changes")


def print_history(history: History) -> None:
    """Print a table for each group of cells, then how many cells changed."""
    console = Console(highlight=False)
    for group in history.groups():
        console.print(Text(conditions.title(group), style="bold cyan"))
        print_whole(console, _table(history, group))
        console.print()
    for sentence in summary(history):
        console.print(Text(sentence))


def _table(history: History, group: Group) -> Table:
    table = open_table()
    for head in HEADS:
        table.add_column(head, justify="left" if head in ("cell", "changes") else "right", overflow="fold")
    for row in group.rows:
        table.add_row(*_line(row, history.of(row)))
    return table


def _line(row: Row, series: dict[str, Series]) -> list[str]:
    levels = [formatting.number(series[name].levels[-1]) if name in series else formatting.NOTHING for name in METRICS]
    changes = [text for each in series.values() for text in changes_in_words(each)]
    return [cell_name(row), str(len(series[METRICS[0]].points)), *levels, "\n".join(changes)]
