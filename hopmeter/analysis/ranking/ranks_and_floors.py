"""Fill in how each row compares with its table: ranks, ratio to the best row and multiple of the floor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.ranking.rounds import TableRanking
from hopmeter.messages import split_code, tag
from hopmeter.model.cell import Cell
from hopmeter.plan.floors import no_floor

RATIO = ("ratio_to_best", "ratio_to_best_low", "ratio_to_best_high")


def set_ranks(cells: Iterable[Cell], rows: Iterable[dict[str, Any]], rankings: Mapping[str, TableRanking]) -> None:
    """Fill in the ranks, the ratios to the best row and `median_us` in all rows of a run.

    `median_us` is filled in only if there are at least three rounds or 20 messages.
    """
    by_id = {row["cell"]: row for row in rows}
    for cell in cells:
        row, ranking = by_id[cell.id], rankings.get(cell.group)
        if cell.is_whole_workload:
            continue  # a whole workload has no latency of its own
        pooled = {f"median{end}_us": row.get(f"{headline(cell)}_p50{end}_us") for end in ("", "_low", "_high")}
        by_rounds = ranking.columns(cell.id) if ranking is not None and not cell.dropped else {}
        too_few = pooled["median_us"] is None and by_rounds.get("median_low_us") is None
        row |= pooled | by_rounds | (pooled | dict.fromkeys(RATIO) if too_few else {})


def set_floor(
    cell: Cell, row: dict[str, Any], rows: Mapping[str, dict[str, Any]], ranking: TableRanking | None
) -> None:
    """Fill in `floor_us`, `times_floor` and `floor_reason` of a row from its floor's row."""
    floor = rows.get(cell.comparison.floor or "")
    if floor is None:
        row["floor_reason"] = cell.comparison.floor_reason or no_floor("the run has no floor for this cell")
        return
    if floor["status"] != "ok" or floor["median_us"] is None:
        why, _ = split_code(floor["reason"] or "too few samples")
        said = f"the floor {cell.comparison.floor} is {floor['status']}: {why}"
        row["floor_reason"] = tag("W-FLOOR-FAILED", said)
        return
    row["floor_us"], row["floor_reason"] = floor["median_us"], None
    if row["median_us"] is not None and floor["median_us"] > 0:
        row["times_floor"] = row["median_us"] / floor["median_us"]
    if ranking is not None:
        row.update(ranking.floor_columns(cell.id))


def set_floors(cells: Iterable[Cell], rows: Iterable[dict[str, Any]], rankings: Mapping[str, TableRanking]) -> None:
    """Fill in the floor columns of all rows of a run."""
    by_id = {row["cell"]: row for row in rows}
    for cell in cells:
        if not cell.dropped:
            set_floor(cell, by_id[cell.id], by_id, rankings.get(cell.group))
