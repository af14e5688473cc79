"""The model of a table: columns, rows under headings, and the sentences around them. All renderers show this model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hopmeter.report.words.formatting import NOTHING

Place = Literal["own", "below", "heading"]


@dataclass(frozen=True)
class Column:
    """A column of a table; `style` are the classes of its cells."""

    title: str
    style: str = ""
    unit: str = ""
    """Small, below the title."""
    heads: bool = False
    """Whether its cells are the headings of their rows."""
    short: str | None = None
    """The title where every row is one line: in a terminal and in Markdown. By default, title and unit on two lines."""
    key: str = ""
    """The name in CSV and JSON; by default, that of the title."""
    place: Place = "own"
    """Where a page shows it: in a column, below the value of the column before, or as a part of the row's heading."""
    least: int = 0
    """A narrow terminal leaves out the column with the lowest number first; a column with 0 always stays."""
    optional: bool = False
    """Whether rows of one line do without it if no row has a value."""

    @property
    def name(self) -> str:
        """The name in CSV and JSON."""
        return self.key or "_".join(self.title.lower().split())

    @property
    def is_number(self) -> bool:
        """Whether its values are on the right; ranks are names of places."""
        return bool({"number", "bar"} & set(self.style.split())) and "place" not in self.style.split()

    @property
    def line_title(self) -> str:
        """The title where every row is one line."""
        return "\n".join(filter(None, (self.title, self.unit))) if self.short is None else self.short


@dataclass(frozen=True)
class Value:
    """A cell of a table."""

    text: str = ""
    notes: tuple[str, ...] = ()
    """Small lines below the text."""
    sort: Any = None
    """The value that a sortable table compares; None comes last."""
    style: str = ""
    bar: float | None = None
    """The length of a bar before the text, in percent."""
    short: str | None = None
    """The text where every row is one line, if its column's title or other columns have the rest."""
    inline: str = ""
    """What follows the text on one line instead of notes: `(14.9–15.6)`."""
    below: str = ""
    """The text below another value, where no title explains it."""
    ends: tuple[float | None, float | None] | None = None
    """The interval of `sort`, for CSV and JSON."""
    data: Any = None
    """The value in CSV and JSON; by default `sort`."""

    @property
    def line_text(self) -> str:
        """The text where every row is one line, without `inline`."""
        return str(self.text if self.short is None else self.short)

    @property
    def is_empty(self) -> bool:
        """Whether a row of one line has nothing to show in this cell."""
        return self.line_text in ("", NOTHING)


@dataclass(frozen=True)
class Line:
    """A row of a table; `style` are its classes, such as `failed` and `reference`."""

    values: Sequence[Value]
    style: str = ""
    remarks: tuple[str, ...] = ()
    """What to know about this row: below its heading on a page, otherwise at its end."""


@dataclass(frozen=True)
class Body:
    """Rows under a heading of their own, or all rows of a table."""

    lines: Sequence[Line]
    title: str = ""
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Columns and rows; `label` is the title, `caption` explains the columns."""

    label: str
    columns: Sequence[Column]
    bodies: Sequence[Body]
    caption: str = ""
    style: str = "plain"
    sentences: Sequence[str] = ()
    """What the table says, most important first."""
    chips: Sequence[str] = ()
    """Conditions that the title lacks, a word or two each."""
    hints: Sequence[str] = ()
    """What a page says in the notes of cells, in sentences for renderers that have no notes."""

    @property
    def lines(self) -> list[Line]:
        """The rows of all bodies."""
        return [line for body in self.bodies for line in body.lines]

    @property
    def line_columns(self) -> list[int]:
        """The places of the columns that rows of one line have. What `status` says is at the end, with the remarks."""
        return [
            place
            for place, column in enumerate(self.columns)
            if column.style != "status"
            and not (column.optional and all(line.values[place].is_empty for line in self.lines))
        ]

    def line_end(self, line: Line) -> str:
        """Return the end of a row of one line: its remarks, after the status of a row without a result."""
        place = next((at for at, column in enumerate(self.columns) if column.style == "status"), None)
        status = "" if place is None else line.values[place].line_text
        return ": ".join(filter(None, ("" if status == "ok" else status, ", ".join(line.remarks))))


def table(
    label: str, columns: Sequence[Column], lines: Sequence[Line], caption: str = "", style: str = "plain"
) -> Table:
    """Return a table with a single body."""
    return Table(label, columns, [Body(lines)], caption, style)


def notes(*texts: str) -> tuple[str, ...]:
    """Return the texts that are not empty."""
    return tuple(filter(None, texts))
