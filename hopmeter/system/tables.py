"""Tables in the terminal, in a file and in a pipe."""

from __future__ import annotations

from rich.table import Table

from hopmeter.system.terminal import Console

WIDEST = 200
"""Letters of a line where nothing says how wide it may be."""


def print_whole(console: Console, table: Table) -> None:
    """A file or a pipe has no edge, so nothing is cut there for its sake."""
    edge = console.width
    if not console.is_terminal:
        wanted = console.measure(table, options=console.options.update(max_width=WIDEST)).maximum
        console.width = max(edge, wanted)
    console.print(table)
    console.width = edge
