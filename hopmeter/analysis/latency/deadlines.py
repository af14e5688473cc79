"""Count the messages of a flow or path that missed their deadline, and compute confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Times
from hopmeter.analysis.latency.intervals import ALPHA, LEAST_TRIALS
from hopmeter.statistics.shares.late_shares import late_share_interval
from hopmeter.store.samples import NONE_NS

LEAST_MESSAGES = 30
"""The minimum number of messages for which the share of missed deadlines is resolved."""

Missed = NDArray[np.bool_]


@dataclass(frozen=True)
class MissedCount:
    """The number of missed deadlines in one trial."""

    messages: int
    missed: int
    longest: int
    """The longest sequence of consecutive missed deadlines."""
    excused: int = 0
    """The number of missed deadlines that a clock error alone may explain."""
    doubtful: int = 0
    """The number of messages that count as being in time but may be late, given the clock uncertainty."""

    def __add__(self, other: MissedCount) -> MissedCount:
        """Return the sums of two counts; `longest` is the larger of the two `longest` values."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__}
        return MissedCount(**sums | {"longest": max(self.longest, other.longest)})

    @property
    def bounds(self) -> tuple[int, int]:
        """The minimum and maximum number of missed deadlines that the clock uncertainty allows."""
        return self.missed - self.excused, self.missed + self.doubtful


def find_missed(due: Times, done: Times, deadline_s: float) -> Missed:
    """Return a mask of the messages that missed their deadline. A lost message has missed its deadline."""
    late: Missed = (done == NONE_NS) | (done - due > round(deadline_s * 1e9))
    return late


def count_missed(late: Missed) -> MissedCount:
    """Count the missed deadlines of a trial. `late` must be in message order."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], late, [False])).astype(np.int8)))
    runs = edges[1::2] - edges[::2]
    return MissedCount(len(late), int(late.sum()), int(runs.max(initial=0)))


def judge_deadline(due: Times, done: Times, deadline_s: float, uncertainty_ns: float = 0.0) -> MissedCount:
    """Count the missed deadlines of a trial.

    If the times come from two hosts, also count the messages whose outcome is open because of the clock uncertainty.
    """
    counted = count_missed(find_missed(due, done, deadline_s))
    if not uncertainty_ns:
        return counted
    ends = (deadline_s + uncertainty_ns / 1e9, deadline_s - uncertainty_ns / 1e9)
    least, most = (int(find_missed(due, done, each).sum()) for each in ends)
    return replace(counted, excused=counted.missed - least, doubtful=most - counted.missed)


def missed_columns(deadline_s: float | None, trials: Sequence[MissedCount]) -> dict[str, Any]:
    """Return the deadline columns of `cells.parquet`, or no columns if there is no deadline.

    For a whole workload, `deadline_s` is None, and the columns sum the missed deadlines of all flows and paths.
    """
    if not trials:
        return {}
    messages, missed = sum(each.messages for each in trials), sum(each.missed for each in trials)
    low, high = missed_interval(trials)
    return {
        "deadline_us": None if deadline_s is None else deadline_s * 1e6,
        "missed": missed,
        "missed_share": missed / messages if messages else None,
        "missed_share_low": low,
        "missed_share_high": high,
        "missed_in_a_row": max(each.longest for each in trials),
    }


def missed_interval(trials: Sequence[MissedCount], alpha: float = ALPHA) -> tuple[float | None, float | None]:
    """Return the Clopper-Pearson interval of the share of missed deadlines, or None for both bounds if there are too
    few messages or trials.

    Missed deadlines come in clusters, so `late_shares` estimates the effective number of messages from the trials.
    """
    messages = [each.messages for each in trials]
    if len(trials) < LEAST_TRIALS or sum(messages) < LEAST_MESSAGES:
        return None, None
    least, most = zip(*(trial.bounds for trial in trials), strict=True)
    return late_share_interval(least, messages, alpha)[0], late_share_interval(most, messages, alpha)[1]
