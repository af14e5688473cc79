"""What a ranking could have detected, and how many rounds a ratio would take."""

from __future__ import annotations

import math

import numpy as np

from hopmeter.statistics.ranking import Ranking, on_scale, quantile

NORMAL_POWER = 0.8416
"""The 80 % quantile of the normal distribution, for a power of 80 %."""


def detectable(result: Ranking, a: str, b: str) -> float | None:
    """Return the smallest ratio (or difference) of two cells that this run would have decided in 80 % of cases.

    None if the pair has fewer than three common rounds, or was not compared.
    """
    pair = next((each for each in result.pairs if {each.a, each.b} == {a, b}), None)
    if pair is None or pair.low is None:
        return None
    return on_scale(result.scale, (quantile(pair.level, pair.freedom) + NORMAL_POWER) * pair.error)


def rounds_needed(result: Ranking, ratio: float, a: str | None = None, b: str | None = None) -> int | None:
    """Return how many rounds would decide a ratio (or difference) in 80 % of cases, for one pair or the middle one.

    None if no pair has an interval, or if the ratio is none at all.
    """
    wanted = {a, b} - {None}
    pairs = [each for each in result.pairs if each.low is not None and wanted <= {each.a, each.b}]
    distance = abs(math.log(ratio)) if result.scale == "ratio" and ratio > 0 else abs(ratio)
    if not pairs or distance == 0:
        return None
    needs = [_need(each.error, each.freedom, each.rounds, each.level, distance) for each in pairs]
    return math.ceil(float(np.median(needs)))


def _need(error: float, freedom: float, rounds: int, level: float, distance: float) -> float:
    """Search the rounds: the error falls with their square root, and the degrees of freedom rise with them."""
    found = 3.0
    for _ in range(6):
        reach = quantile(level, max(freedom * (found - 1) / max(rounds - 1, 1), 1.0)) + NORMAL_POWER
        found = max(3.0, rounds * (reach * error / distance) ** 2)
    return found
