"""Synthetic runs of a workload, for tests of its ranking and its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.analysis.workload.workload_ranking import set_workload_ranks
from hopmeter.analysis.workload.workload_rows import complete_workload
from hopmeter.model.cell import Cell
from hopmeter.model.columns import CELLS
from hopmeter.model.workload import Flow, Participant, Workload
from hopmeter.plan.workloads.workload_cells import rows_of, whole_id
from tests import cells

MESSAGES = 1000
"""The number of messages with a deadline in each trial of a flow."""
WORKLOAD = Workload(
    (Participant("camera", "rust", "block"), Participant("motor", "rust", "block")),
    (
        Flow(0, "bytes:100", 100, "frames", "camera", ("motor",), rate_hz=30.0, deadline_s=0.033),
        Flow(1, "bytes:64", 64, "commands", "motor", ("camera",), rate_hz=500.0, deadline_s=0.002),
    ),
)


@dataclass(frozen=True)
class Made:
    """A synthetic transport: per round, the missed deadlines of its frames, the p99 of each flow and its CPU."""

    missed: Sequence[int]
    p99_us: dict[str, Sequence[float]] = field(default_factory=dict)
    cpu: Sequence[float] = ()
    status: str = "ok"
    installable: bool = True
    backlog_ms_per_s: float | None = None
    clock_us: tuple[float, float] | None = None
    """The clock uncertainty and the clock residual of the flows."""
    doubtful: int = 0
    """The number of deadlines per trial whose verdict the clock error may change."""


def make_run(made: dict[str, Made], workload: Workload = WORKLOAD, **about: Any) -> Run:
    """Return a run with the rows of each transport, ranked like a real run."""
    run = Run(FilePath("results/made-up"), {"scenario_name": "made-up", **about}, [])
    usual: dict[str, Any] = {"payload": "workload", "rate_hz": None, "workload": workload}
    whole = [
        cells.cell(id=f"c{place}-{name}", transport=name, installable=each.installable, **usual)
        for place, (name, each) in enumerate(made.items())
    ]
    planned = [part for cell in whole for part in rows_of(cell)]
    values = {cell.id: _row(cell, made[cell.axes.transport]) for cell in planned}
    for cell in whole:
        complete_workload(values[cell.id], [values[each.id] for each in rows_of(cell)[1:]])
    run.trials = [trial for cell in whole for trial in _trials(cell, made[cell.axes.transport])]
    run.flow_trials = [
        trial for cell in planned if cell.flow for trial in _flow_trials(cell, made[cell.axes.transport])
    ]
    run.rows = [Row(run, cell, values[cell.id]) for cell in planned]
    set_workload_ranks(planned, values.values(), run.workload_rankings)
    return run


def _row(cell: Cell, one: Made) -> dict[str, Any]:
    rounds, missed = len(one.missed), sum(one.missed)
    late = cell.is_whole_workload or cell.deadline_s is not None
    own = missed if cell.flow != "commands" else 0
    share = own / (MESSAGES * rounds * (len(cell.workload.flows) if cell.is_whole_workload and cell.workload else 1))
    cpu = sum(one.cpu) / rounds if one.cpu and cell.is_whole_workload else None
    counted = {"missed": own, "missed_share": share, "missed_share_low": 0.9 * share, "missed_share_high": 1.1 * share}
    own_values = {"cell": cell.id, "status": one.status, "flow": cell.flow, "path": cell.path, "cpu_core_percent": cpu}
    counts = {"trials": rounds, "trials_good": rounds, "sent": 10_000, "received": 10_000, "lost": 0}
    times: dict[str, float | None] = {"response_count": 5000, "response_p50_us": 100.0}
    clocks = one.clock_us if one.clock_us and cell.flow else (None, None)
    times |= dict(zip(("clock_uncertainty_us", "clock_residual_us"), clocks, strict=True))
    times["backlog_ms_per_s"] = one.backlog_ms_per_s if cell.flow == "frames" else None
    return dict.fromkeys(CELLS) | own_values | counts | times | (counted if late and one.status == "ok" else {})


def _trials(cell: Cell, one: Made) -> list[dict[str, Any]]:
    deadlines = MESSAGES * len(cell.workload.flows) if cell.workload else 0
    return [
        _trial(cell, at)
        | {"deadlines": deadlines, "missed": missed, "cpu_core_percent": one.cpu[at] if one.cpu else None}
        | (
            {"missed_least": max(0, missed - one.doubtful), "missed_most": missed + one.doubtful}
            if one.doubtful
            else {}
        )
        for at, missed in enumerate(one.missed)
    ]


def _flow_trials(cell: Cell, one: Made) -> list[dict[str, Any]]:
    return [_trial(cell, at) | {"sent": 1000, "p99_us": each} for at, each in enumerate(one.p99_us.get(cell.flow, ()))]


def _trial(cell: Cell, at: int) -> dict[str, Any]:
    place = {"cell": cell.id, "trial": at, "round": at, "order": at, "good": True}
    return {**place, "steal_share": 0.0, "wall_s": 2.0, "nodes": []}


def whole_rows(run: Run) -> dict[str, Row]:
    return {str(row["transport"]): row for row in run.rows if whole_id(row.cell) == row.id}
