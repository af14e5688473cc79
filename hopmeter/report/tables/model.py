"""The table model that all renderers share: columns, rows under headings, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hopmeter.report.words.formatting import NOTHING

Place = Literal["own", "below", "heading"]


@dataclass(frozen=True)
class Column:
    """A column of a table. `style` contains the CSS classes of the column's cells."""

    title: str
    style: str = ""
    unit: str = ""
    """The unit, shown in small type below the title."""
    heads: bool = False
    """Whether the column's cells are row headings."""
    short: str | None = None
    """The column's title in terminals and Markdown. The default is the title and the unit on two lines."""
    key: str = ""
    """The name in CSV and JSON, which defaults to a name derived from the title."""
    place: Place = "own"
    """Where a page shows the column's values: in a column, below the previous column's value, or in the row heading."""
    least: int = 0
    """A narrow terminal drops the column with the lowest positive number first. A column whose `least` is 0 is never
    dropped."""
    optional: bool = False
    """Whether terminals and Markdown omit the column if no row has a value."""

    @property
    def name(self) -> str:
        """The name of the column in CSV and JSON."""
        return self.key or "_".join(self.title.lower().split())

    @property
    def is_number(self) -> bool:
        """Whether the column's values are right-aligned numbers. Columns of ranks are not right-aligned."""
        return bool({"number", "bar"} & set(self.style.split())) and "place" not in self.style.split()

    @property
    def line_title(self) -> str:
        """The column's title in terminals and Markdown."""
        return "\n".join(filter(None, (self.title, self.unit))) if self.short is None else self.short


@dataclass(frozen=True)
class Value:
    """A cell of a table."""

    text: str = ""
    notes: tuple[str, ...] = ()
    """Lines in small type that a page shows below the text."""
    sort: Any = None
    """The sort key in a sortable table. A cell whose key is None is sorted last."""
    style: str = ""
    bar: float | None = None
    """The length of the bar before the text, in percent."""
    short: str | None = None
    """A shorter text for terminals and Markdown, where other columns contain the rest of the text."""
    inline: str = ""
    """Text that terminals and Markdown append instead of the notes, such as `(14.9–15.6)`."""
    below: str = ""
    """The text to show if the value appears below another value, without a column title."""
    ends: tuple[float | None, float | None] | None = None
    """The confidence interval of the value in `sort`, for CSV and JSON."""
    data: Any = None
    """The value in CSV and JSON, which defaults to `sort`."""

    @property
    def line_text(self) -> str:
        """The cell's text in terminals and Markdown, without `inline`."""
        return str(self.text if self.short is None else self.short)

    @property
    def is_empty(self) -> bool:
        """Whether the cell is empty in terminals and Markdown."""
        return self.line_text in ("", NOTHING)


@dataclass(frozen=True)
class Line:
    """A row of a table. `style` contains the CSS classes of the row, such as `failed` and `reference`."""

    values: Sequence[Value]
    style: str = ""
    remarks: tuple[str, ...] = ()
    """Remarks on the row. A page shows the remarks below the row heading, and other renderers at the end of the row."""


@dataclass(frozen=True)
class Body:
    """A group of rows with an optional heading."""

    lines: Sequence[Line]
    title: str = ""
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table. `label` is the table's title, and `caption` explains the table's columns."""

    label: str
    columns: Sequence[Column]
    bodies: Sequence[Body]
    caption: str = ""
    style: str = "plain"
    sentences: Sequence[str] = ()
    """Sentences on the results in the table, the most important first."""
    chips: Sequence[str] = ()
    """Conditions that the title does not contain, as labels of one or two words."""
    hints: Sequence[str] = ()
    """The notes on cells as sentences, for renderers that cannot show notes on cells."""

    @property
    def lines(self) -> list[Line]:
        """All rows of the table."""
        return [line for body in self.bodies for line in body.lines]

    @property
    def line_columns(self) -> list[int]:
        """The indices of the columns that terminals and Markdown show. The status column is left out, because
        `line_end` contains the status."""
        return [
            place
            for place, column in enumerate(self.columns)
            if column.style != "status"
            and not (column.optional and all(line.values[place].is_empty for line in self.lines))
        ]

    def line_end(self, line: Line) -> str:
        """Return the text at the end of a row in terminals and Markdown: any status other than `ok`, then the
        remarks."""
        place = next((at for at, column in enumerate(self.columns) if column.style == "status"), None)
        status = "" if place is None else line.values[place].line_text
        return ": ".join(filter(None, ("" if status == "ok" else status, ", ".join(line.remarks))))


def table(
    label: str, columns: Sequence[Column], lines: Sequence[Line], caption: str = "", style: str = "plain"
) -> Table:
    """Return a table with a single body."""
    return Table(label, columns, [Body(lines)], caption, style)


def notes(*texts: str) -> tuple[str, ...]:
    """Return the non-empty texts."""
    return tuple(filter(None, texts))
