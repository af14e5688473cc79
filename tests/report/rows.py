"""Rows without a run folder, for tests that read only the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.cli.output import run_table
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
    "forward_copies_per_message": 1.0,
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


def in_rounds(*made: dict[str, Any], rounds: int = 8, noise: float = 0.02, drift: float = 0, **about: Any) -> Run:
    """Return a run whose trials have random noise of size `noise`, with a level that drifts between rounds."""
    draw = np.random.default_rng(5)
    run = run_of(*made, **about)
    for number in range(rounds):
        level = 1 + drift * draw.random() if drift else 1.0
        for place, values in enumerate(made):
            us = values["response_p50_us"] * level * draw.lognormal(0, noise)
            trial = {"cell": f"c{place}", "trial": number, "good": True, "order": number, "round": number}
            run.trials.append({**trial, "median_us": us, "wall_s": 2.0, "steal_us": 0.0})
    return run


def print_table(run: Run, width: int = 200) -> str:
    console = Console(width=width)
    with console.capture() as said:
        run_table.print_run(console, run)
    return said.get()
