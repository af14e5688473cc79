"""Compare a flow within its workload with the same flow measured separately, using the rounds that contain both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.ranking.paired_rounds import compare_rounds
from hopmeter.analysis.ranking.rounds import Bounds, Values
from hopmeter.messages import codes, split_code, tag
from hopmeter.model.cell import Cell

Row = dict[str, Any]


def set_times_alone(cells: Iterable[Cell], rows: Sequence[Row], trials: Sequence[Values]) -> None:
    """Fill in `times_alone` and `times_alone_p99` of each flow that was also measured separately.

    `trials` contains the trials of all rows, with their percentiles.
    """
    by_id = {row["cell"]: row for row in rows}
    for cell in cells:
        if not (cell.comparison.alone and cell.flow):
            continue
        alone, beside = by_id[cell.id], by_id[f"{cell.comparison.beside}.{cell.flow}"]
        if alone["status"] == beside["status"] == "ok":
            columns = {"times_alone": "median_us", "times_alone_p99": f"{headline(cell)}_p99_us"}
            for name, column in columns.items():
                beside |= _columns(name, compare_rounds(alone["cell"], beside["cell"], trials, column))
        elif alone["status"] in ("failed", "saturated"):
            _warn(beside, alone)


def _columns(name: str, bounds: Bounds) -> Row:
    return {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), bounds, strict=True)}


def _warn(beside: Row, alone: Row) -> None:
    """Add a warning that explains why the separately measured flow has no latency."""
    why, _ = split_code(str(alone["reason"] or ""))
    said = f"times_alone of {beside['flow']} is unknown: the flow alone is {alone['status']}: {why}"
    beside["warnings"] = [*(beside["warnings"] or []), tag("W-NOT-ALONE", said)]
    beside["warning_codes"] = codes(beside["warnings"])
