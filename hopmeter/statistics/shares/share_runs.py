"""Compare shares of rare events between runs from different hours, using the variance between runs and within runs.

Shares are compared as log odds. If a drift multiplies the odds of all runs by a constant factor, all log odds shift by
the same amount.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from hopmeter.statistics.shares.share_tests import ShareTrial

Run = Sequence[ShareTrial]
"""The trials of one cell in one run."""


@dataclass(frozen=True)
class ShareRuns:
    """The log odds of the old side, and the difference between the log odds of the old and the new side.

    `errors` contains two standard errors of this difference: one from the variance between runs, and one from the
    variance within runs. `freedoms` contains the degrees of freedom of the two standard errors.
    """

    old: float
    difference: float
    errors: tuple[float, float]
    freedoms: tuple[float, float]


def compare_share_runs(old: Sequence[Run], new: Sequence[Run]) -> ShareRuns:
    """Compare the shares in old runs with the shares in new runs. The old and the new side together need at least three
    runs, each with at least one message."""
    before, after = ([_log_odds(run) for run in side] for side in (old, new))
    freedom = len(old) + len(new) - 2
    squares = sum((each - fmean(side)) ** 2 for side in (before, after) for each in side)
    between = squares / freedom * (1 / len(old) + 1 / len(new))
    within = sum(sum(map(_variance, side)) / len(side) ** 2 for side in (old, new))
    least = max(1, min(map(len, (*old, *new))) - 1)
    errors = math.sqrt(max(between, 1e-12)), math.sqrt(within)
    return ShareRuns(fmean(before), fmean(after) - fmean(before), errors, (freedom, least))


def _sums(run: Run) -> tuple[int, int]:
    return sum(each.events for each in run), sum(each.messages for each in run)


def _log_odds(run: Run) -> float:
    events, messages = _sums(run)
    return math.log((events + 0.5) / (messages - events + 0.5))


def _variance(run: Run) -> float:
    """Return the variance of a run's log odds, estimated from the run's trials, but at least the variance of
    independent messages."""
    events, messages = _sums(run)
    some, others = events + 0.5, messages - events + 0.5
    squares = sum((each.events - events / messages * each.messages) ** 2 for each in run)
    by_trials = squares * len(run) / max(len(run) - 1, 1) * (messages / (some * others)) ** 2
    return max(by_trials, 1 / some + 1 / others)
