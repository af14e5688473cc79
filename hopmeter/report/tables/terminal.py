"""Print tables in a terminal. Each row occupies a single line, and a narrow terminal omits the least important
columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.table import Table as RichTable
from rich.text import Text

from hopmeter.report.tables.model import Table
from hopmeter.system.tables import open_table, print_whole, width
from hopmeter.system.terminal import Console, visible

STYLES = {"failed": "red", "saturated": "yellow", "reference": "dim", "missed": "red"}
"""The terminal style of each CSS class. If a row has several of these classes, the first class in this dict applies."""
NARROW = 1
"""The number of spaces between columns in a narrow terminal."""


def print_table(console: Console, table: Table) -> None:
    """Print the columns that fit into the terminal. If the output is a file or a pipe, print all columns."""
    shown, gap = table.line_columns, 2
    while _is_too_wide(console, drawn := _draw(table, shown, gap)):
        if gap > NARROW:
            gap = NARROW
        elif (least := _least_important(table, shown)) is not None:
            shown.remove(least)
        else:
            break
    print_whole(console, drawn)


def _is_too_wide(console: Console, drawn: RichTable) -> bool:
    return console.is_terminal and width(console, drawn) > console.width


def _least_important(table: Table, shown: Sequence[int]) -> int | None:
    known = [place for place in shown if table.columns[place].least]
    return min(known, key=lambda place: table.columns[place].least, default=None)


def _draw(table: Table, shown: Sequence[int], gap: int) -> RichTable:
    drawn, ends = open_table(gap), [table.line_end(line) for line in table.lines]
    for place in shown:
        column = table.columns[place]
        folds = place == shown[-1] and not column.is_number and not any(ends)
        overflow: Literal["fold", "ellipsis"] = "fold" if folds else "ellipsis"
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        drawn.add_column(column.line_title, justify=justify, no_wrap=not folds, overflow=overflow)
    if any(ends):
        drawn.add_column("", overflow="fold")
    texts = dict(zip(map(id, table.lines), zip(*(_texts(table, place) for place in shown), strict=True), strict=True))
    for number, body in enumerate(table.bodies):
        if number and table.style == "ranking":
            drawn.add_row()
        for line in body.lines:
            end = [table.line_end(line)] if any(ends) else []
            drawn.add_row(*texts[id(line)], *end, style=_style(line.style))
    return drawn


def _texts(table: Table, place: int) -> list[Text]:
    """Return the formatted cells of a column, padded to a common width."""
    values = [line.values[place] for line in table.lines]
    texts = [(visible(value.line_text), visible(value.inline)) for value in values]
    before, after = (max((len(text[part]) for text in texts), default=0) for part in (0, 1))
    aligned = [f"{text:>{before}} {end:<{after}}" if after else text for text, end in texts]
    return [Text(text, style=_style(value.style)) for text, value in zip(aligned, values, strict=True)]


def _style(classes: str) -> str:
    return next((style for name, style in STYLES.items() if name in classes.split()), "")
