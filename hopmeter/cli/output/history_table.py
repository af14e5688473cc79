"""Print the history of cells over all runs, in a table for each group of cells."""

from __future__ import annotations

from rich.text import Text

from hopmeter.analysis.history.cell_history import History
from hopmeter.report.tables.history import table
from hopmeter.report.tables.terminal import print_table
from hopmeter.report.words.history_words import summary
from hopmeter.system.terminal import Console


def print_history(history: History) -> None:
    """Print a table for each group of cells, then a summary of the changed cells."""
    console = Console(highlight=False)
    for group in history.groups():
        shown = table(history, group)
        console.print(Text(shown.label, style="bold cyan"))
        print_table(console, shown)
        console.print()
    for sentence in summary(history):
        console.print(Text(sentence))
