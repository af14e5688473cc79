"""Open the run folder or baseline that a user names."""

from __future__ import annotations

from pathlib import Path

from hopmeter.analysis.results.run_results import Run, read_finished
from hopmeter.comparison import baselines
from hopmeter.comparison.between_runs import Runs
from hopmeter.comparison.interleaved import has_sides
from hopmeter.errors import UsageError


def open_runs(name: str) -> Runs:
    """Open a run folder, or the runs of a baseline. Raises UsageError if the name is neither a run nor a baseline."""
    path = Path(name)
    if path.exists() or path.with_name(f".{path.name}.partial").exists():
        run = read_finished(path)
        return Runs(run.name, (run,))
    found = baselines.load(name)
    return Runs(found.name, found.runs)


def open_sides(name: str) -> Run:
    """Open a run with two sides. Raises UsageError if the run has only one side."""
    run = read_finished(Path(name))
    if not has_sides(run):
        raise UsageError(
            "E-COMPARE-NOTHING",
            f"{name} has one side: it was measured without --against",
            f"name the run or baseline to compare it with: hopmeter compare A {name}",
        )
    return run
