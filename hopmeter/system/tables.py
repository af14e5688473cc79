"""Print tables to a terminal, a file or a pipe."""

from __future__ import annotations

from rich.table import Table

from hopmeter.system.terminal import Console

WIDEST = 200
"""Characters of a line if the width is unknown."""


def print_whole(console: Console, table: Table) -> None:
    """Print a table; in a file or a pipe no column is cut to the terminal's width."""
    edge = console.width
    if not console.is_terminal:
        wanted = console.measure(table, options=console.options.update(max_width=WIDEST)).maximum
        console.width = max(edge, wanted)
    console.print(table)
    console.width = edge
