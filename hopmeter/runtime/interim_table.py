"""A table of the current medians, shown above the progress bar. The table has no ranks, because no interim analysis
(look) has compared the medians."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from hopmeter.model.cell import Cell

Median = tuple[Cell, float]
"""A cell and its median latency in microseconds."""
TITLE = "medians so far, µs; the ranks come at the end"


def interim_table(medians: Sequence[Median], most_rows: int) -> Table:
    """Return a table with a row for each transport and language, and a column for each payload and rate.

    Rows beyond `most_rows` are omitted, and the last row states their number.
    """
    heads = list(dict.fromkeys(_head(cell) for cell, _ in medians))
    found: dict[str, dict[str, str]] = {}
    for cell, median_us in medians:
        found.setdefault(_name(cell), {})[_head(cell)] = _number(median_us)
    table = Table(box=None, pad_edge=False, title=TITLE, title_justify="left", title_style="dim", header_style="dim")
    table.add_column("")
    for head in heads:
        table.add_column(head, justify="right")
    for name, values in list(found.items())[:most_rows]:
        table.add_row(name, *(values.get(head, "") for head in heads))
    if len(found) > most_rows:
        table.add_row(f"and {len(found) - most_rows} others", style="dim")
    return table


def _name(cell: Cell) -> str:
    parts = (cell.axes.transport, cell.axes.language, cell.carriage.profile, cell.comparison.side)
    return " ".join(filter(None, parts))


def _head(cell: Cell) -> str:
    rate = f"{cell.axes.rate_hz:,g} Hz" if cell.axes.rate_hz else cell.axes.pace
    return f"{cell.axes.payload}, {rate}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
