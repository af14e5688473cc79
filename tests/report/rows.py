"""Rows without a folder, for rules that only look at numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopmeter.analysis.run_results import Row, Run
from hopmeter.cli.parts import run_table
from hopmeter.model.cell import Cell
from hopmeter.system.terminal import Console
from tests import cells

PLANNED = cells.cell(transport="shm").flat()
MEASURED = {
    "trials_good": 5,
    "status": "ok",
    "lost": 0,
    "received": 5000,
    "response_p99_us": 90.0,
    "response_p99_low_us": 85.0,
    "response_p99_high_us": 95.0,
    "response_p999_us": 120.0,
    "response_p999_low_us": 110.0,
    "response_p999_high_us": 140.0,
    "floor_us": 10.0,
    "copies_per_hop": 1.0,
}


def run_of(*rows: dict[str, Any], **about: Any) -> Run:
    run = Run(Path("results/made-up"), about, [])
    run.rows = [_row(run, f"c{place}", row) for place, row in enumerate(rows)]
    return run


def _row(run: Run, name: str, row: dict[str, Any]) -> Row:
    planned = {key: row.get(key, value) for key, value in PLANNED.items()}
    return Row(run, Cell.of(**{**planned, "id": name}), {"cell": name, **MEASURED, **row})


def cell(
    transport: str, p50: float, low: float | None = None, high: float | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "transport": transport,
        "response_p50_us": p50,
        "response_p50_low_us": low,
        "response_p50_high_us": high,
        **more,
    }


def print_table(run: Run, width: int = 200) -> str:
    """What a terminal shows of a run."""
    console = Console(width=width)
    with console.capture() as said:
        run_table.print_run(console, run)
    return said.get()
