"""Formats tables in Markdown."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Container[int] = ()) -> str:
    """Format a table. `right` contains the indices of the right-aligned columns. Any `|` inside a table cell is
    escaped."""
    rules = ["---:" if place in right else "---" for place in range(len(heads))]
    lines = [heads, rules, *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
