"""Exclude trials that were repeated because the hypervisor stole too much CPU time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hopmeter.messages import split_code, tag
from hopmeter.model.trial import TrialResult


def set_aside_repeated(trials: Sequence[TrialResult]) -> list[TrialResult]:
    """Return all trials of a cell; trials that were replaced by a repetition are marked as not good. If a round has
    several good trials of the cell, only the last good trial counts."""
    last = {trial.round: trial.trial for trial in trials if trial.good}
    return [_set_aside(trial) if _is_earlier(trial, last) else trial for trial in trials]


def _is_earlier(trial: TrialResult, last: Mapping[int | None, int]) -> bool:
    return trial.good and trial.round is not None and trial.trial < last[trial.round]


def _set_aside(trial: TrialResult) -> TrialResult:
    share = f"{trial.steal_share:.0%}" if trial.steal_share is not None else "too much"
    reason = tag("W-REPEATED", f"the hypervisor took {share} of its cores' time, and the trial was measured again")
    return replace(trial, good=False, reason=reason, remedy="")


def is_repeated(trial: TrialResult) -> bool:
    """Return whether a repetition replaced this trial. A trial that was replaced counts neither as good nor as
    failed."""
    return split_code(trial.reason)[1] == "W-REPEATED"
