"""Compute all rows of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from hopmeter.analysis.cells.cell import Judged, examine, row
from hopmeter.analysis.cells.rate_search import set_highest
from hopmeter.analysis.cells.repeated_trials import set_aside_repeated
from hopmeter.analysis.cells.requirements import Judge, look_levels
from hopmeter.analysis.cells.throughput import set_throughput
from hopmeter.analysis.cells.trial_percentiles import percentile_columns
from hopmeter.analysis.cells.turn_medians import turn_medians_us
from hopmeter.analysis.cost.resources import trial_core_percent
from hopmeter.analysis.cost.slow_messages import why_columns
from hopmeter.analysis.latency.growth import set_growth
from hopmeter.analysis.latency.intervals import ALPHA
from hopmeter.analysis.moments import first_message, recovery
from hopmeter.analysis.ranking.ranks_and_floors import set_floors, set_ranks
from hopmeter.analysis.ranking.rounds import rank_tables
from hopmeter.analysis.ranking.security_cost import CPU, set_security_cost
from hopmeter.analysis.workload.times_alone import set_times_alone
from hopmeter.analysis.workload.workload_ranking import ENDS, rank_workloads, set_workload_ranks
from hopmeter.analysis.workload.workload_rows import complete_requirements, complete_workload
from hopmeter.model.cell import Cell
from hopmeter.plan.workloads.workload_cells import rows_of, whole_id
from hopmeter.scenario.resolve import decision
from hopmeter.scenario.search import Search
from hopmeter.statistics.trends import Trend
from hopmeter.store.run_folder import RunFolder

Values = dict[str, Any]


def analyse_run(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the rows of all cells of a run, and store the measured values of each trial in the run folder.

    A damaged trial or cell does not affect the other rows.
    """
    scenario = folder.about.get("scenario", {})
    looks = folder.about.get("looks") or {}
    required = scenario.get("require") or []
    levels = look_levels(looks) if decision(scenario.get("until"), required) == "require" else {}
    cells, rows, judges, trials = [each for cell in folder.cells for each in rows_of(cell)], [], [], []
    trends: dict[str, list[Trend]] = {}
    for cell in cells:
        examined = [examine(cell, each, folder) for each in set_aside_repeated(folder.trials_of(whole_id(cell)))]
        rows.append(row(cell, examined, folder))
        judges.append(Judge(cell, examined, [] if cell.comparison.alone else required, levels.get(cell.group, ALPHA)))
        if scenario.get("why") and rows[-1]["trials_good"]:
            rows[-1] |= why_columns(cell, folder.path)
        trends[cell.id] = [each.measured.trend for each in examined if each.measured and each.measured.trend]
        for each in examined:
            values = trial_values(cell, each, folder)
            folder.judge(replace(each.result, cell=cell.id), values)
            trials.append(asdict(each.result) | values | {"cell": cell.id, CPU: trial_cpu_us(each, values)})
    _complete_workloads(cells, rows, complete_workload)
    by_id = {row["cell"]: row for row in rows}
    rankings = rank_tables(cells, by_id, trials, looks, scenario.get("until"))
    set_ranks(cells, rows, rankings)
    set_floors(cells, rows, rankings)
    set_times_alone(cells, rows, trials)
    set_security_cost(cells, rows, trials)
    set_growth(rows, trends)
    set_workload_ranks(cells, rows, rank_workloads(cells, by_id, trials, trials))
    for judge, each_row in zip(judges, rows, strict=True):
        each_row |= judge.columns(each_row)
    _complete_workloads(cells, rows, complete_requirements)
    if asked := scenario.get("search"):
        set_highest(Search.model_validate(asked), required, cells, rows)
        set_throughput(cells, rows, trials)
    return rows


def _complete_workloads(
    cells: Sequence[Cell], rows: Sequence[dict[str, Any]], complete: Callable[[Values, Sequence[Values]], None]
) -> None:
    """Complete the row of each workload from the rows of its flows and paths."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for cell, each in zip(cells, rows, strict=True):
        parts.setdefault(whole_id(cell), []).append(each)
    for cell, each in zip(cells, rows, strict=True):
        if cell.is_whole_workload:
            complete(each, [part for part in parts[cell.id] if part is not each])


def trial_cpu_us(trial: Judged, values: Values) -> float | None:
    """Return the CPU time, in µs, that all processes of a trial use while each pair sends one message, or None if it is
    unknown."""
    percent, rate_hz = trial_core_percent(trial.result), values.get("achieved_hz")
    return percent / rate_hz * 1e4 if percent and rate_hz else None


def trial_values(cell: Cell, trial: Judged, folder: RunFolder) -> dict[str, Any]:
    """Return the measured values of a trial, or no values if the trial failed. The trial's cell may be a flow or a path
    of a workload."""
    if trial.measured is None:
        return {}
    counts = asdict(trial.measured.counts) | {"lost": trial.measured.counts.lost}
    values = {name: counts[name] for name in ("sent", "received", "lost", "duplicated", "reordered", "abandoned")}
    values["achieved_hz"] = trial.measured.achieved_hz
    values |= percentile_columns(cell, trial.measured)
    values |= _of_workload(cell, trial)
    values |= first_message.trial_columns(trial.measured.first) if trial.measured.first else {}
    values |= recovery.trial_columns(trial.measured.recovery) if trial.measured.recovery else {}
    values["turn_medians_us"] = turn_medians_us(cell, trial.result, folder)
    return values


def _of_workload(cell: Cell, trial: Judged) -> dict[str, Any]:
    """Return the numbers of deadlines and of missed deadlines in a trial. For a whole workload, also return the CPU use
    of the trial."""
    assert trial.measured is not None, "a failed trial has no values"
    counted = trial.measured.missed
    found: dict[str, Any] = {"deadlines": counted.messages, "missed": counted.missed} if counted else {}
    if counted and counted.bounds != (counted.missed, counted.missed):
        found |= dict(zip(ENDS, counted.bounds, strict=True))
    return found | ({"cpu_core_percent": trial_core_percent(trial.result)} if cell.is_whole_workload else {})
