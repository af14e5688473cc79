"""Test whether values grow over time, by fitting a line to the logarithms of consecutive blocks.

Neighbouring blocks are correlated, because a busy machine stays busy for a while. To account for this correlation, the
standard error is computed from a smaller, effective number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

import numpy as np

from hopmeter.statistics.observations import Floats
from hopmeter.statistics.ranking import quantile

BLOCKS = 60
BIAS = 4.0
"""The factor of the bias correction for a correlation that is estimated from few blocks. A factor of 1 would too often
mistake correlated blocks for growth."""
FREEDOM = 0.15
"""The fraction of the degrees of freedom that is used, to allow for the uncertainty of the estimated correlation."""
LEAST_FREEDOM = 2.0
MOST_CORRELATED = 0.95


@dataclass(frozen=True)
class Trend:
    """The logarithm of the ratio of the final value to the initial value, with its standard error and degrees of
    freedom."""

    growth: float
    error: float
    freedom: float

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the interval of the ratio at the significance level `level`, such as 0.05."""
        half = quantile(level, self.freedom) * self.error
        return math.exp(max(self.growth - half, -700.0)), math.exp(min(self.growth + half, 700.0))


def fit_trend(blocks: Floats) -> Trend:
    """Fit a line to the logarithms of `BLOCKS` positive values. Before the residual error is computed, a parabola is
    removed, so that curved growth does not increase the error."""
    values, many = np.log(blocks), len(blocks)
    place = (np.arange(many) - (many - 1) / 2) / many
    slope = float(place @ values / (place @ place))
    bend = place**2 - (place**2).mean()
    rest = values - values.mean() - slope * place - bend * (bend @ values) / (bend @ bend)
    squares = max(float(rest @ rest), 1e-18)
    seen = float(rest[1:] @ rest[:-1]) / squares
    correlation = min(max(seen + BIAS * (2 + 4 * seen) / many, 0.0), MOST_CORRELATED)
    repeats = (1 + correlation) / (1 - correlation)
    independent = many / repeats
    left = max(independent - 2, 0.5)
    error = math.sqrt(squares / many * independent / left * repeats / float(place @ place))
    return Trend(slope, error, max(FREEDOM * left, LEAST_FREEDOM))


def combine(trends: Sequence[Trend]) -> Trend:
    """Return the mean trend of several trials. If the trends differ by more than the errors of the single trials, the
    error of the mean is computed from the spread between trials."""
    many = len(trends)
    own = sum(each.error**2 for each in trends) / many**2
    between = variance(each.growth for each in trends) / many if many > 1 else 0.0
    freedom = sum(each.freedom for each in trends) if own >= between else many - 1.0
    return Trend(fmean(each.growth for each in trends), math.sqrt(max(own, between)), freedom)
