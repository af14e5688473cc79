"""Compute the CPU time that the hypervisor stole during the trials of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.analysis.results.run_results import Row, Run


@dataclass(frozen=True)
class Steal:
    """Shares of stolen CPU time, from 0 to 1."""

    share: float
    """The mean share of stolen time over all trials, weighted by the durations of the trials."""
    worst: float
    row: Row
    """The row of the trial with the largest share of stolen time."""
    trial: int
    measured_cores: bool
    """Whether the shares cover only the cores that the trials used. Runs of older versions recorded all cores
    together."""


def steal_of(runs: Sequence[Run]) -> Steal | None:
    """Return the shares of stolen time in the given runs, or None if no trial was started."""
    known = [(_share(run, trial), trial, row) for run in runs for row in run.measured_rows for trial in row.trials]
    shares = [(share, trial, row) for share, trial, row in known if share is not None]
    seconds = sum(trial["wall_s"] for _, trial, _ in shares)
    if not seconds:
        return None
    worst, trial, row = max(shares, key=lambda each: each[0])
    mean = sum(share * trial["wall_s"] for share, trial, _ in shares) / seconds
    return Steal(mean, worst, row, trial["trial"], all(each.get("steal_share") is not None for _, each, _ in shares))


def _share(run: Run, trial: Mapping[str, Any]) -> float | None:
    """Return the share of stolen time in one trial. Runs of older versions stored only the stolen time summed over all
    cores."""
    if trial.get("steal_share") is not None:
        return float(trial["steal_share"])
    cores = run.part("machine").get("cores") or 1
    return trial["steal_us"] / 1e6 / trial["wall_s"] / cores if trial.get("wall_s") else None
