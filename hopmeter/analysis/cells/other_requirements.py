"""Judge a stored run by requirements that its scenario does not contain."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.cells.cell import examine
from hopmeter.analysis.cells.repeated_trials import set_aside_repeated
from hopmeter.analysis.cells.requirements import Judge
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.analysis.workload.workload_rows import complete_requirements
from hopmeter.plan.workloads.workload_cells import whole_id
from hopmeter.store.run_folder import RunFolder

COLUMNS = ("require", "require_each", "require_rounds")


def judge_run(run: Run, required: Sequence[str]) -> None:
    """Judge all rows of a run by the given requirements, and replace the rows' requirement columns."""
    folder = RunFolder.open(run.folder)
    for each in run.measured_rows:
        _judge_row(each, required, folder)
    for each in run.measured_rows:
        if each.cell.is_whole_workload:
            parts = [row.values for row in run.measured_rows if row is not each and whole_id(row.cell) == each.id]
            complete_requirements(each.values, parts)
    run.part("scenario")["require"] = list(required)


def _judge_row(row: Row, required: Sequence[str], folder: RunFolder) -> None:
    results = set_aside_repeated(folder.trials_of(whole_id(row.cell)))
    trials = [examine(row.cell, each, folder) for each in results]
    row.values.update(dict.fromkeys(COLUMNS) | Judge(row.cell, trials, required).columns(row.values))
