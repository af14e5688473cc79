"""Write run folders with synthetic trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopmeter.model.cell import Cell
from hopmeter.model.columns import PLANNED
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder
from tests.cells import cell

MACHINE = {"cpu_model": "made up", "cores": 2}


def transport(name: str, **changes: Any) -> Cell:
    return cell(id=f"c-{name}", transport=name, **changes)


def sides(name: str, **changes: Any) -> tuple[Cell, Cell]:
    old = transport(name, **changes).with_values(id=f"c-{name}-old", side="old", counterpart=f"c-{name}")
    return old, transport(name, **changes).with_values(side="new", counterpart=old.id)


def make_run(
    path: Path,
    trials: Sequence[tuple[Cell, Sequence[float]]],
    *,
    started: str = "2026-11-21T04:12:00+00:00",
    machine: Mapping[str, Any] = MACHINE,
    rows: Mapping[str, Mapping[str, Any]] | None = None,
    **about: Any,
) -> Path:
    """Write a finished run. `trials` contains the trial medians of each cell in µs; `rows` contains other row values by
    cell id."""
    cells = [each for each, _ in trials]
    facts = {"cells": [each.as_json() for each in cells], "started": started, "machine": dict(machine), **about}
    folder = RunFolder.create(path.parent, path.name, facts)
    for each, medians in trials:
        for number, median in enumerate(medians):
            trial = folder.add_trial(TrialResult(each.id, number, good=True, round=number, steal_share=0.0), [])
            folder.judge(trial, {"response_p50_us": median})
    return folder.finish([_row(each, (rows or {}).get(each.id, {})) for each in cells])


def _row(one: Cell, values: Mapping[str, Any]) -> dict[str, Any]:
    planned = {name: one.get(name) for name in PLANNED}
    return {**planned, "cell": one.id, "status": "ok", "lost": 0, "received": 1000, **values}
