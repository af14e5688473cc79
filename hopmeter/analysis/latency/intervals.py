"""Compute confidence intervals from the spread between trials. docs/method.md explains the method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hopmeter.analysis.latency.percentiles import Nanoseconds, quantiles
from hopmeter.statistics.shares.tails import Tail, count_late

LEAST_TRIALS = 3
"""The minimum number of trials from which the spread between trials can be estimated."""
ALPHA = 0.05
LEAST_TAIL = 900
"""The lowest percentile, in permille, for which short trials are evaluated together. Percentiles below this limit are
resolved within a trial."""

Ends = tuple[float | None, float | None]


def interval(
    per_trial: Sequence[float | None], point: float | None, positive: bool = True, alpha: float = ALPHA
) -> tuple[float, float] | None:
    """Return the confidence interval of a pooled percentile from the percentiles of the trials, or None if there are
    too few trials.

    The interval is Student's t interval around the mean of the trials, computed from logarithms if all samples are
    `positive`. The interval also covers the visible bias: the distance between the pooled percentile and the mean of
    the trials. Positive percentiles alone do not justify logarithms, because samples around zero may have positive
    percentiles by chance.
    """
    known = [each for each in per_trial if each is not None]
    if point is None or len(known) < LEAST_TRIALS or len(known) < len(per_trial):
        return None
    if positive:
        low, high = _about([math.log(each) for each in known], math.log(point), alpha)
        return math.exp(low), math.exp(high)
    return _about(known, point, alpha)


def _about(values: Sequence[float], point: float, alpha: float) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((each - mean) ** 2 for each in values) / (len(values) - 1))
    half = _factor(len(values), alpha) * spread
    return min(mean, point) - half, max(mean, point) + half


@lru_cache(maxsize=256)
def _factor(trials: int, alpha: float) -> float:
    """Return the half-width of the interval, in standard deviations of a single trial."""
    from scipy.special import stdtrit  # SciPy is slow to import, and most commands show no interval

    return float(stdtrit(trials - 1, 1 - alpha / 2)) / math.sqrt(trials)


@dataclass(frozen=True)
class Spread:
    """The spread of a percentile between trials: the percentile of each trial or, if trials are too short, their pooled
    tail."""

    per_trial: list[float | None]
    tail: Tail | None

    def bounds(self, point: float | None, positive: bool, alpha: float = ALPHA) -> Ends:
        """Return the confidence interval of the percentile in nanoseconds. Unknown bounds are None; the upper bound is
        infinite if too many messages were lost."""
        if self.tail is None:
            return interval(self.per_trial, point, positive, alpha) or (None, None)
        low, high = self.tail.bounds(alpha)
        return None if low == -math.inf else low, None if high == math.inf else high


def measure_spread(trials: Sequence[Nanoseconds], lost: Sequence[int], permille: int) -> Spread:
    """Return the spread of a percentile between trials. The samples of each trial are reordered in place."""
    both = zip(trials, lost, strict=True)
    per_trial = [quantiles(values, [permille], missing)[0] for values, missing in both]
    is_short = None in per_trial and permille >= LEAST_TAIL and len(trials) >= LEAST_TRIALS and any(map(len, trials))
    return Spread(per_trial, count_late(trials, lost, 1 - permille / 1000) if is_short else None)
