"""Find where the level of series changed, with an error rate that holds over all series together.

The statistic of a series is the largest standardized difference between the means before and after any split, with
outliers clipped. Shuffling the series shows how likely such a split is if nothing changed, whatever the distribution of
the values. A series whose change is significant is split there, and both parts are tested again. At each level,
Benjamini and Hochberg's procedure corrects the p-values over all series. At the end, changes are removed that a steady
drift describes as well. docs/method.md has the measured error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.03
"""The share of histories of equal series with a false change: 5 % are allowed, and p-values have errors too."""
SHORTEST = 3
"""The least number of values before and after a change."""
CLIP = 5.0
"""Values farther from the median than so many standard deviations, estimated robustly, are outliers."""
NORMAL_MAD = NormalDist().inv_cdf(0.75)
"""The median absolute deviation of a normal distribution with standard deviation 1."""
FIRST_SHUFFLES = 200
MOST_SHUFFLES = 200_000
ENOUGH = 20
"""After so many shuffles with a larger difference, the p-value of a series is known well enough."""
RESOLUTION = 10
"""Shuffles that are expected to exceed the smallest p-value that the correction needs."""
BLOCK = 1 << 21
"""Values that are shuffled at once."""
ROUNDING = 1e-9
TINY = 1e-18
LEAST_GAIN = 4.0
"""How much better than a steady drift a change has to describe the values around it, as a difference of BICs: more
removes more drifts, and more small changes."""
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change of a series: the first value after it, and how likely such a split is if nothing changed."""

    index: int
    p: float


def find_changes(series: Sequence[Sequence[float]]) -> list[list[Change]]:
    """Return the changes of each series, in the order of its values."""
    from scipy.stats import false_discovery_control  # takes a second to load, and only histories need it

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
    """Remove the changes whose surroundings, up to the next changes, a steady drift describes as well; worst first."""
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
    """Return how much better two levels are than a straight line: the difference of their BICs, outliers clipped."""
    from scipy.stats import theilslopes  # takes a second to load, and only histories need it

    count = len(values)
    runs = np.arange(count)
    slope, offset, *_ = theilslopes(values, runs)
    levels = np.where(runs < at, np.median(values[:at]), np.median(values[at:]))
    reach = _reach(values) or np.inf
    line, step = (np.minimum(np.abs(values - model), reach) for model in (offset + slope * runs, levels))
    return float(count * np.log(((line**2).sum() + TINY) / ((step**2).sum() + TINY)) - np.log(count))


def least_length(series: int) -> int:
    """Return about the number of values from which on one change of one of so many series can be found.

    The clearest change is in the middle, and only two orders of the values show it as clearly.
    """
    length = 2 * SHORTEST
    while 2 / comb(length, length // 2) > ALPHA / max(1, series):
        length += 1
    return length


def _most_shuffles(tests: int) -> int:
    """Return how many shuffles resolve the smallest p-value that the correction needs."""
    return min(MOST_SHUFFLES, max(1000, round(RESOLUTION * tests / ALPHA)))


def _best_split(values: Values, most: int) -> Change:
    clipped = _clip(values)
    if clipped.min() == clipped.max():
        return Change(SHORTEST, 1.0)
    random = np.random.default_rng(np.frombuffer(clipped.tobytes(), np.uint32))  # equal values have equal results
    centred = clipped - clipped.mean()
    scores = _scores(centred[np.newaxis, :])[0]
    best = int(scores.argmax())
    return Change(best + SHORTEST, _p_value(random, centred, float(scores[best]), most))


def _clip(values: Values) -> Values:
    """Move outliers to the edge of the other values."""
    middle, reach = _median(values), _reach(values)
    return values if reach == 0 else np.minimum(np.maximum(values, middle - reach), middle + reach)


def _reach(values: Values) -> float:
    """Return how far a value may be from its level, by the noise between neighbours; 0 if they are equal."""
    steps = np.diff(values)
    return CLIP * _median(np.abs(steps - _median(steps))) / NORMAL_MAD / sqrt(2)


def _median(values: Values) -> float:
    """Return the median of at least one value: NumPy's own takes most of its time to look for values that are NaN."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def _p_value(random: np.random.Generator, values: Values, score: float, most: int) -> float:
    """Return the share of shuffles with at least this score; the mean of the values is 0."""
    larger = shuffles = 0
    while shuffles < most and larger < ENOUGH:
        size = min(max(FIRST_SHUFFLES, shuffles), most - shuffles, max(1, BLOCK // len(values)))
        shuffled = random.permuted(np.broadcast_to(values, (size, len(values))), axis=1)
        larger += int((_scores(shuffled).max(axis=1) >= score * (1 - ROUNDING)).sum())
        shuffles += size
    return (1 + larger) / (1 + shuffles)


def _scores(rows: Values) -> Values:
    """Return for each row the difference of the means at each allowed split, on a scale that all splits share. The mean
    of each row is 0."""
    count = rows.shape[1]
    before = np.arange(SHORTEST, count - SHORTEST + 1)
    sums = np.cumsum(rows, axis=1)[:, SHORTEST - 1 : count - SHORTEST]
    scores: Values = np.abs(sums) / np.sqrt(before * (count - before) / count)
    return scores
