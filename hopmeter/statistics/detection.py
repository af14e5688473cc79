"""Compute the smallest ratio that a test can detect, and how many rounds are needed to detect a given ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hopmeter.statistics.ranking import CellPair, Ranking, on_scale, quantile

NORMAL_POWER = 0.8416
"""The 80 % quantile of the normal distribution, for a power of 80 %."""


def detectable(error: float, freedom: float, level: float) -> float:
    """Return the smallest ratio that a test detects with a power of 80 %. `error` is the standard error of the ratio's
    logarithm."""
    return on_scale("ratio", reach(level, freedom) * error)


def rounds_needed(result: Ranking, ratio: float, a: str | None = None, b: str | None = None) -> int | None:
    """Return how many rounds are needed to detect a ratio or a difference with a power of 80 %, or None if the number
    is unknown.

    If several pairs are considered, the result is the median of the pairs' numbers of rounds. If `a` or `b` is given,
    only pairs that contain the given cells are considered.
    """
    wanted = {a, b} - {None}
    pairs = [each for each in result.pairs if each.low is not None and wanted <= {each.a, each.b}]
    distance = abs(math.log(ratio)) if result.scale == "ratio" and ratio > 0 else abs(ratio)
    if not pairs or distance == 0:
        return None
    needs = [_need(each.error, each.freedom, each.rounds, each.level, distance) for each in pairs]
    return math.ceil(float(np.median(needs)))


def pair_rounds_needed(pair: CellPair) -> int | None:
    """Return how many rounds make a pair's difference significant with a power of 80 %, or None if the number is
    unknown. The computation assumes that the estimated difference is the true difference."""
    distance = abs(math.log(pair.ratio)) if pair.ratio is not None else pair.difference
    if pair.low is None or not distance:
        return None
    return math.ceil(_need(pair.error, pair.freedom, pair.rounds, pair.level, distance))


def rounds_for_ratio(pairs: Sequence[CellPair], ratio: float, level: float) -> float | None:
    """Return how many rounds are needed to detect `ratio` in three quarters of the pairs, given the noise of each pair.

    Return None if no pair has an interval, or if the pairs are compared by differences instead of ratios.
    """
    known = [each for each in pairs if each.low is not None and each.ratio is not None]
    needs = [_need(each.error, each.freedom, each.rounds, level, math.log(ratio)) for each in known]
    return float(np.quantile(needs, 0.75)) if needs else None


def _need(error: float, freedom: float, rounds: int, level: float, distance: float) -> float:
    """Iterate to find the number of rounds that detects the difference `distance`. Additional rounds reduce the
    standard error and add degrees of freedom."""
    found = 3.0
    for _ in range(6):
        errors = reach(level, max(freedom * (found - 1) / max(rounds - 1, 1), 1.0))
        found = max(3.0, rounds * (errors * error / distance) ** 2)
    return found


def reach(level: float, freedom: float) -> float:
    """Return how many standard errors a difference must span to be detected with a power of 80 %."""
    return quantile(level, freedom) + NORMAL_POWER
