"""Find the transports that may still be the best for a workload. Once a transport can no longer be the best for a
workload, the workload's flows are no longer measured on their own over this transport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hopmeter.analysis.cells.cell import examine
from hopmeter.analysis.cells.whole_run import trial_values
from hopmeter.analysis.workload.workload_ranking import WorkloadRanking, rank_workloads
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.workloads.workload_cells import rows_of
from hopmeter.store.run_folder import RunFolder

Measure = Callable[[Cell, TrialResult], Sequence[Mapping[str, Any]]]
"""Measures a workload trial, and returns the values of the workload and of each flow and path."""


def measure_trials(folder: RunFolder) -> Measure:
    """Return a function that analyses a trial of a workload and returns the measured values of the workload, its flows
    and its paths."""

    def measure(cell: Cell, result: TrialResult) -> list[dict[str, Any]]:
        judged = [(part, examine(part, result, folder)) for part in rows_of(cell)]
        return [asdict(each.result) | trial_values(part, each, folder) | {"cell": part.id} for part, each in judged]

    return measure


class InQuestion:
    """Tracks which transports may still be the best for each workload."""

    def __init__(self, cells: Iterable[Cell], measure: Measure) -> None:
        every = list(cells)
        wanted = {cell.comparison.beside for cell in every}
        self._cells = {cell.id: cell for cell in every if cell.id in wanted}
        self._measure = measure
        self._trials: list[Mapping[str, Any]] = []
        self._rankings: Mapping[str, WorkloadRanking] = {}

    def note(self, result: TrialResult) -> None:
        """Record a finished trial."""
        if result.good and (cell := self._cells.get(result.cell)) is not None:
            self._trials += self._measure(cell, result)
            self._rankings = {}

    def includes(self, cell: str) -> bool:
        """Return whether the transport of the given workload cell may still be the best for this workload. Always
        return True for transports that are not ranked."""
        if not self._rankings:
            known = {trial["cell"] for trial in self._trials}
            rows = {each: {"status": "ok" if each in known else "failed"} for each in self._cells}
            self._rankings = rank_workloads(self._cells.values(), rows, self._trials, self._trials)
        low, _ = self._rankings[self._cells[cell].group].ranks.get(cell, (1, 1))
        return low == 1
