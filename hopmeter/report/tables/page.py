"""Convert a table for a page: the page shows some values below the values of another column, and remarks below row
headings."""

from __future__ import annotations

from dataclasses import replace

from hopmeter.report.tables.model import Line, Table, Value, notes


def on_page(table: Table) -> Table:
    """Return the table with only those columns that a page shows as separate columns. A value of a column with the
    place `below` becomes a note below the value of the previous column."""
    columns = [column for column in table.columns if column.place == "own"]
    bodies = [replace(body, lines=[_line(table, line) for line in body.lines]) for body in table.bodies]
    return replace(table, columns=columns, bodies=bodies)


def _line(table: Table, line: Line) -> Line:
    values: list[Value] = []
    for column, value in zip(table.columns, line.values, strict=True):
        if column.place == "own":
            values.append(_with_notes(value, ", ".join(line.remarks)) if column.heads else value)
        elif column.place == "below":
            values[-1] = _with_notes(values[-1], value.below)
    return replace(line, values=values)


def _with_notes(value: Value, *more: str) -> Value:
    return replace(value, notes=(*value.notes, *notes(*more)))
