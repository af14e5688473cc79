"""Express each latency as a multiple of the floor's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hopmeter.messages import split_code, tag
from hopmeter.model.cell import Cell


def headline(cell: Cell) -> str:
    """Return the latency that ranks a cell: the user's wait, from the due time if there is a schedule."""
    return "gather" if cell.axes.pattern == "scatter" and cell.axes.pacing.awaits_return else cell.axes.pacing.latency


def set_floor(cell: Cell, row: dict[str, Any], rows: Mapping[str, dict[str, Any]]) -> None:
    """Fill in `floor_us`, `times_floor` and `floor_reason` from the p50 of the floor's row."""
    floor = rows.get(cell.comparison.floor or "")
    if floor is None:
        row["floor_reason"] = cell.comparison.floor_reason or tag("W-NO-FLOOR", "the run has no floor for this cell")
        return
    column = f"{headline(cell)}_p50_us"
    usable = floor["status"] == "ok" and floor[column] is not None
    if not usable:
        why, _ = split_code(floor["reason"] or "too few samples")
        said = f"the floor {cell.comparison.floor} is {floor['status']}: {why}"
        row["floor_reason"] = tag("W-FLOOR-FAILED", said)
        return
    row["floor_us"], row["floor_reason"] = floor[column], None
    if row[column] is not None and floor[column] > 0:
        row["times_floor"] = row[column] / floor[column]


def set_floors(cells: Iterable[Cell], rows: Iterable[dict[str, Any]]) -> None:
    """Fill in the floors of all rows of a run."""
    by_id = {row["cell"]: row for row in rows}
    for cell in cells:
        if not cell.dropped:
            set_floor(cell, by_id[cell.id], by_id)
