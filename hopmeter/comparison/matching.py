"""Find the same cell in several runs by its conditions, because cell ids differ between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell, table_key
from hopmeter.plan.sides import OLD

Key = tuple[Any, ...]
CONTROLS = ("memory", "shm", "synthetic")
"""Transports that get slower or faster only if the machine or hopmeter itself changes."""


def key(cell: Cell) -> Key:
    """Return the conditions that identify a cell in every run. Library versions are not part of a cell's key."""
    named = (cell.axes.transport, cell.axes.language, cell.carriage.profile, cell.comparison.alongside)
    return *named, *table_key(cell)


def rows_by_key(run: Run) -> dict[Key, Row]:
    """Return a run's measured rows in a dictionary, keyed by the conditions of each row's cell. If the run has two
    sides, the rows of the old side are omitted."""
    return {key(row.cell): row for row in compared_rows(run) if row.cell.comparison.side != OLD}


def compared_rows(run: Run) -> list[Row]:
    """Return the measured rows that have a latency. The row of a whole workload has no latency, but the rows of the
    workload's flows and paths do."""
    return [row for row in run.measured_rows if not row.cell.is_whole_workload]


def deadline_rows(run: Run) -> list[Row]:
    """Return the measured rows with deadlines: whole workloads, flows and paths."""
    return [row for row in run.measured_rows if row.cell.has_deadline]


def is_control(cell: Cell) -> bool:
    """Return whether a cell is a control cell, which shows how the speed of the machine drifts between runs."""
    return cell.axes.transport in CONTROLS


def check_machine(runs: Sequence[Run], remedy: str) -> None:
    """Raise UsageError if the runs come from different machines, because latency levels on different machines always
    differ."""
    found = machine_names.machines(runs)
    if len(set(found.values())) > 1:
        listed = "; ".join(f"{run.name}: {found[id(run)]}" for run in runs)
        said = "the runs come from different machines, which differ even if nothing has changed"
        raise UsageError("E-COMPARE-MACHINES", f"{said}: {listed}", remedy)


def check_common(old: Sequence[dict[Key, Row]], new: Sequence[dict[Key, Row]], names: tuple[str, str]) -> None:
    """Raise UsageError if no cell was measured on both sides."""
    if not set().union(*old) & set().union(*new):
        raise UsageError(
            "E-COMPARE-NOTHING",
            f"{names[0]} and {names[1]} have no cell in common",
            "compare runs of the same scenario with the same options",
        )
