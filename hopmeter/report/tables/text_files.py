"""Convert tables to Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from hopmeter.report.tables.model import Column, Table, Value
from hopmeter.report.words.formatting import THIN
from hopmeter.system import markdown


def as_markdown(tables: Sequence[Table]) -> str:
    """Return a Markdown section for each table: title, sentences, rows and caption."""
    return "\n".join(map(_section, tables))


def _section(table: Table) -> str:
    about = [
        ", ".join(table.chips),
        *table.sentences,
        rows_as_markdown(table),
        Markup(table.caption).striptags(),
        *table.hints,
    ]
    return "\n\n".join([f"### {table.label}", *filter(None, map(str.strip, about))]) + "\n"


def rows_as_markdown(table: Table) -> str:
    """Return the rows of a table in Markdown, with right-aligned numbers."""
    columns = [table.columns[place] for place in table.line_columns]
    ends = [table.line_end(line) for line in table.lines]
    heads = [*(" ".join(column.line_title.split()) for column in columns), *([""] if any(ends) else [])]
    right = [place for place, column in enumerate(columns) if column.is_number]
    rows = [
        [*(_cell(line.values[place]) for place in table.line_columns), *([end] if any(ends) else [])]
        for line, end in zip(table.lines, ends, strict=True)
    ]
    return markdown.table(heads, rows, right)


def _cell(value: Value) -> str:
    return " ".join(filter(None, (value.line_text, value.inline)))


def as_csv(tables: Sequence[Table]) -> str:
    """Return the rows of all tables as CSV. Each CSV row names its table; columns that a table lacks are empty."""
    rows = [row for table in tables for row in _rows(table)]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(tables: Sequence[Table]) -> str:
    """Return one line of JSON for each table: its title, conditions, sentences and rows."""
    return "".join(f"{json.dumps(_object(table), allow_nan=False)}\n" for table in tables)


def _object(table: Table) -> dict[str, Any]:
    about = {"title": _plain(table.label), "conditions": list(map(_plain, table.chips))}
    said = {"sentences": list(map(_plain, table.sentences)), "notes": list(map(_plain, table.hints))}
    rows = [{name: value for name, value in row.items() if name != "table"} for row in _rows(table)]
    return about | said | {"rows": rows}


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """Yield each row as a dict of unformatted values and their interval bounds."""
    has_ends = [any(line.values[place].ends for line in table.lines) for place in range(len(table.columns))]
    for line in table.lines:
        row: dict[str, Any] = {"table": _plain(table.label)}
        for column, value, with_ends in zip(table.columns, line.values, has_ends, strict=True):
            row |= _values(column, value, with_ends)
        yield row | {"remarks": _plain("; ".join(line.remarks))}


def _values(column: Column, value: Value, with_ends: bool) -> dict[str, Any]:
    found = {column.name: value.sort if value.data is None else value.data}
    if with_ends:
        low, high = value.ends or (None, None)
        found |= {f"{column.name}_low": low, f"{column.name}_high": high}
    return found


def _plain(text: str) -> str:
    return str(text).replace(THIN, " ")


FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {"markdown": as_markdown, "csv": as_csv, "json": as_json}
