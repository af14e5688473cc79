"""Analyse hand-made samples of cells and runs in the same way as `hopmeter run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder
from tests import cells
from tests.store.raw import write_raw

US = 1000
MS = 1_000_000

CELL = cells.cell(cores="same", payload_bytes=36, trials=1)

Rows = list[dict[str, Any]]
Trial = Mapping[int, Rows]
"""The records of each endpoint."""


def cell(**changes: Any) -> Cell:
    return CELL.with_values(**changes)


def messages(count: int, late_us: int = 0) -> Rows:
    """Return the records of a source that sends each message `late_us` after it is due; messages are due every
    millisecond."""
    return [{"seq": seq, "due": seq * MS, "sent": seq * MS + late_us * US} for seq in range(count)]


def arrivals(seqs: Sequence[int], took_us: float = 50, start: str = "arrived") -> Rows:
    """Return the records of a receiver that receives each message `took_us` after the message was due."""
    return [{"seq": seq, start: seq * MS + round(took_us * US)} for seq in seqs]


def keep(
    folder: RunFolder, one: Cell, trials: Sequence[Trial], nodes: Sequence[dict[str, Any]] = (), **moments: Any
) -> None:
    for number, trial in enumerate(trials):
        files = [write_raw(folder.path / f"{who}.raw", who, rows) for who, rows in trial.items()]
        folder.add_trial(TrialResult(one.id, number, good=True, nodes=list(nodes), **moments), files)
        for file in files:
            file.unlink()


def run_of(results: Path, *cells: Cell) -> RunFolder:
    return RunFolder.create(results, "run", {"cells": [each.as_json() for each in cells]})


def analyse_trials(
    results: Path,
    one: Cell,
    *trials: Trial,
    nodes: Sequence[dict[str, Any]] = (),
    moments: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the row of a cell with the given trials. `moments` contains the times of the restart in every trial."""
    folder = run_of(results, one)
    keep(folder, one, trials, nodes, **(moments or {}))
    return analyse_run(folder)[0]
