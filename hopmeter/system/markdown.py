"""Formats tables in Markdown."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Container[int] = ()) -> str:
    """Format a table; the columns whose numbers are in `right` are right-aligned. A `|` inside a cell is escaped."""
    rules = ["---:" if place in right else "---" for place in range(len(heads))]
    lines = [heads, rules, *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
