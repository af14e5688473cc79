"""Print tables to a terminal, a file or a pipe."""

from __future__ import annotations

from rich.table import Table

from hopmeter.system.terminal import Console

WIDEST = 200
"""The number of characters of a line if the width is unknown."""


def open_table(gap: int = 2) -> Table:
    """Return a table without lines, with this many spaces between the columns."""
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))


def width(console: Console, table: Table) -> int:
    """Return how many characters the lines of a table need."""
    return console.measure(table, options=console.options.update(max_width=WIDEST)).maximum


def print_whole(console: Console, table: Table) -> None:
    """Print a table; in a file or a pipe, no column is cut to the width of the terminal."""
    edge = console.width
    if not console.is_terminal:
        console.width = max(edge, width(console, table))
    console.print(table)
    console.width = edge
