"""Prints tables to a terminal, a file or a pipe."""

from __future__ import annotations

from rich.table import Table

from hopmeter.system.terminal import Console

WIDEST = 200
"""The maximum number of characters per line when the width of a table is measured."""


def open_table(gap: int = 2) -> Table:
    """Return an empty table without lines, with `gap` spaces between columns."""
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))


def width(console: Console, table: Table) -> int:
    """Return the width of a table in characters, at most `WIDEST`."""
    return console.measure(table, options=console.options.update(max_width=WIDEST)).maximum


def print_whole(console: Console, table: Table) -> None:
    """Print a table. In a file or a pipe, no column is truncated to the width of a terminal."""
    edge = console.width
    if not console.is_terminal:
        console.width = max(edge, width(console, table))
    console.print(table)
    console.width = edge
