"""Find level changes in many series, and limit the rate of false changes over all series together.

The test statistic is the largest standardised difference between the means on both sides of a split, with outliers
clipped. Random shuffles of the series show how likely so large a difference is without a change, so no distribution of
the values is assumed.

A series with a significant change is split at the change, and both parts are tested again. At each step, the
Benjamini-Hochberg procedure corrects the p-values over all series. Finally, a change is removed if a steady drift
explains the values about as well as the change does. docs/method.md has the measured error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.03
"""The significance level. The allowed rate of false changes is 5 %; the significance level is lower than 5 % because
the p-values are estimates."""
SHORTEST = 3
"""The minimum number of values before and after a change."""
CLIP = 5.0
"""Values more than this many robust standard deviations from the median are outliers."""
NORMAL_MAD = NormalDist().inv_cdf(0.75)
"""The median absolute deviation of the standard normal distribution."""
FIRST_SHUFFLES = 200
MOST_SHUFFLES = 200_000
ENOUGH = 20
"""Shuffling stops once this many shuffles have a larger difference, because the p-value is then accurate enough."""
RESOLUTION = 10
"""At the smallest p-value that matters, this many shuffles with a larger difference are expected."""
BLOCK = 1 << 21
"""The number of values that are shuffled at once."""
ROUNDING = 1e-9
TINY = 1e-18
LEAST_GAIN = 4.0
"""The minimum BIC difference by which a level change must fit better than a steady drift. A larger minimum removes more
drifts, but also more small changes."""
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change in a series: the index of the first value after the change, and its p-value."""

    index: int
    p: float


def find_changes(series: Sequence[Sequence[float]]) -> list[list[Change]]:
    """Return the changes of each series, in chronological order."""
    from scipy.stats import false_discovery_control  # SciPy takes a second to import, and only histories need it

    found: list[list[Change]] = [[] for _ in series]
    untested = [(place, 0, len(values)) for place, values in enumerate(series)]
    while untested := [part for part in untested if part[2] - part[1] >= 2 * SHORTEST]:
        most = _most_shuffles(len(untested))
        splits = [_best_split(np.asarray(series[place][low:high], float), most) for place, low, high in untested]
        corrected = false_discovery_control([split.p for split in splits])
        significant = [(*part, split) for part, split, p in zip(untested, splits, corrected, strict=True) if p <= ALPHA]
        untested = []
        for place, low, high, split in significant:
            found[place].append(Change(low + split.index, split.p))
            untested += [(place, low, low + split.index), (place, low + split.index, high)]
    ordered = [sorted(changes, key=lambda change: change.index) for changes in found]
    return [_without_drift(np.asarray(values, float), each) for values, each in zip(series, ordered, strict=True)]


def _without_drift(values: Values, changes: list[Change]) -> list[Change]:
    """Remove each change if a steady drift explains the values about as well as the change, starting with the least
    convincing change.

    Each change is judged by the values between the previous and the next change.
    """
    while changes:
        ends = [0, *(change.index for change in changes), len(values)]
        windows = zip(ends, ends[1:], ends[2:], strict=False)
        gains = [_gain_over_line(values[low:high], at - low) for low, at, high in windows]
        worst = int(np.argmin(gains))
        if gains[worst] > LEAST_GAIN:
            break
        changes = [*changes[:worst], *changes[worst + 1 :]]
    return changes


def _gain_over_line(values: Values, at: int) -> float:
    """Return by how much the BIC of a two-level model is better than the BIC of a straight line. Outliers are clipped
    before both models are fitted."""
    from scipy.stats import theilslopes  # SciPy takes a second to import, and only histories need it

    count = len(values)
    runs = np.arange(count)
    slope, offset, *_ = theilslopes(values, runs)
    levels = np.where(runs < at, np.median(values[:at]), np.median(values[at:]))
    reach = _reach(values) or np.inf
    line, step = (np.minimum(np.abs(values - model), reach) for model in (offset + slope * runs, levels))
    return float(count * np.log(((line**2).sum() + TINY) / ((step**2).sum() + TINY)) - np.log(count))


def least_length(series: int) -> int:
    """Return the approximate minimum length of a series in which a change can be found, given the number of tested
    series.

    A change in the middle of a series is easiest to detect, because only two of all permutations of the values show so
    large a difference.
    """
    length = 2 * SHORTEST
    while 2 / comb(length, length // 2) > ALPHA / max(1, series):
        length += 1
    return length


def _most_shuffles(tests: int) -> int:
    """Return how many shuffles are needed to resolve the smallest p-value that matters after correction."""
    return min(MOST_SHUFFLES, max(1000, round(RESOLUTION * tests / ALPHA)))


def _best_split(values: Values, most: int) -> Change:
    clipped = _clip(values)
    if clipped.min() == clipped.max():
        return Change(SHORTEST, 1.0)
    random = np.random.default_rng(np.frombuffer(clipped.tobytes(), np.uint32))  # equal series get equal results
    centred = clipped - clipped.mean()
    scores = _scores(centred[np.newaxis, :])[0]
    best = int(scores.argmax())
    return Change(best + SHORTEST, _p_value(random, centred, float(scores[best]), most))


def _clip(values: Values) -> Values:
    """Clip each outlier to the range of the values that are not outliers."""
    middle, reach = _median(values), _reach(values)
    return values if reach == 0 else np.minimum(np.maximum(values, middle - reach), middle + reach)


def _reach(values: Values) -> float:
    """Return how far a value may be from its level without counting as an outlier. The outlier limit is derived from
    the differences between neighbouring values."""
    steps = np.diff(values)
    return CLIP * _median(np.abs(steps - _median(steps))) / NORMAL_MAD / sqrt(2)


def _median(values: Values) -> float:
    """Return the median of a non-empty array. NumPy's own median spends most of its time on NaN checks."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def _p_value(random: np.random.Generator, values: Values, score: float, most: int) -> float:
    """Return the fraction of random shuffles that reach at least the given score. The values must have a mean of 0."""
    larger = shuffles = 0
    while shuffles < most and larger < ENOUGH:
        size = min(max(FIRST_SHUFFLES, shuffles), most - shuffles, max(1, BLOCK // len(values)))
        shuffled = random.permuted(np.broadcast_to(values, (size, len(values))), axis=1)
        larger += int((_scores(shuffled).max(axis=1) >= score * (1 - ROUNDING)).sum())
        shuffles += size
    return (1 + larger) / (1 + shuffles)


def _scores(rows: Values) -> Values:
    """Return the standardised difference of the means at each allowed split of each row. Each row must have a mean of
    0."""
    count = rows.shape[1]
    before = np.arange(SHORTEST, count - SHORTEST + 1)
    sums = np.cumsum(rows, axis=1)[:, SHORTEST - 1 : count - SHORTEST]
    scores: Values = np.abs(sums) / np.sqrt(before * (count - before) / count)
    return scores
