"""Estimate the share of late messages, with an interval that accounts for late messages clustering within trials.

All arrays have the axes trial and threshold, or only the axis threshold. docs/method.md explains the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopmeter.statistics.observations import Floats

MOST_TIMES = 1000
"""The search for the required number of trials stops at this multiple of the number of trials so far."""


@dataclass(frozen=True)
class Dispersion:
    """The overdispersion of the numbers of late messages in trials.

    `factor` is the variance between trials of the number of late messages, divided by the variance to expect if
    messages were late independently. The factor is at least 1. `freedom` contains the degrees of freedom of each
    factor. If a few trials cause most of the variance, `freedom` is smaller than the number of trials minus 1.
    """

    factor: Floats
    freedom: Floats


def measure_dispersion(late: Floats, counts: Floats) -> Dispersion:
    """Measure the overdispersion of the numbers of late messages in `late` at each threshold. `counts` contains the
    number of messages in each trial."""
    total, trials = counts.sum(), len(counts)
    share = late.sum(axis=0) / total
    excess = late - counts[:, None] * share
    squares = (excess**2).sum(axis=0)
    independent = share * (1 - share) * (total - (counts**2).sum() / total)
    is_known = (squares > 0) & (independent > 0)
    factor = np.divide(squares, independent, out=np.ones_like(squares), where=is_known)
    kurtosis = np.divide(trials * (excess**4).sum(axis=0), squares**2, out=np.ones_like(squares), where=is_known)
    freedom = (trials - 1) * np.minimum(2 / np.maximum(kurtosis - 1, 1e-9), 1.0)
    return Dispersion(np.maximum(factor, 1.0), np.maximum(freedom, 1.0))


def share_interval(late: Floats, count: Floats | float, dispersion: Dispersion, alpha: float) -> tuple[Floats, Floats]:
    """Return the interval of the share of `late` messages among `count` messages.

    The method is the Clopper-Pearson interval for the effective number of independent messages (Korn and Graubard
    1998).
    """
    from scipy.special import betaincinv, ndtri, stdtrit  # slow to import, and most commands need no statistics

    worth = (ndtri(alpha / 2) / stdtrit(dispersion.freedom, alpha / 2)) ** 2 / dispersion.factor
    events, others = late * worth, (count - late) * worth
    low = betaincinv(np.maximum(events, 1e-12), others + 1, alpha / 2)
    high = betaincinv(events + 1, np.maximum(others, 1e-12), 1 - alpha / 2)
    return np.where(late > 0, low, 0.0), np.where(late < count, high, 1.0)


def late_share_interval(late: Sequence[int], counts: Sequence[int], alpha: float) -> tuple[float, float]:
    """Return the interval of a share of late, missed or lost messages. `late` and `counts` contain the number of late
    messages and of all messages in each trial."""
    events, sent = np.asarray(late, float)[:, None], np.asarray(counts, float)
    low, high = share_interval(events.sum(axis=0), sent.sum(), measure_dispersion(events, sent), alpha)
    return float(low[0]), float(high[0])


def trials_needed(late: float, count: float, trials: int, seen: Dispersion, limit: float, alpha: float) -> int | None:
    """Return how many trials are needed to show that the share of late messages is above or below a limit.

    `late` and `count` are the mean numbers, per trial, of late messages and of all messages; these means are assumed to
    stay the same. These means and the dispersion `seen` come from the `trials` trials so far. Return None if more than
    `MOST_TIMES * trials` trials are needed.
    """
    many = np.unique(np.geomspace(trials, MOST_TIMES * trials, 400).astype(int))
    later = Dispersion(seen.factor, np.maximum(seen.freedom * (many - 1) / max(trials - 1, 1), 1.0))
    low, high = share_interval(late * many, count * many, later, alpha)
    decided = (low > limit) | (high < limit)
    return int(many[np.argmax(decided)]) if decided.any() else None
