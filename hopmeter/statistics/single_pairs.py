"""Compare pairs of cells that each have their own observations, with a common error rate over all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hopmeter.statistics.families import some_pairs_divisors
from hopmeter.statistics.observations import Observation, Scale
from hopmeter.statistics.pair_tests import LEAST_ROUNDS, step_down
from hopmeter.statistics.ranking import LEAST_DIFFERENCE, CellPair, fit, on_scale, quantile


@dataclass(frozen=True)
class Question:
    """Two cells to compare, with one observation of each cell in each round.

    `least_p_value` is the p-value of another test of the two cells; a difference is significant only if both tests find
    it.
    """

    a: str
    b: str
    observations: Sequence[Observation]
    least_p_value: float = 0.0


def compare_single_pairs(questions: Sequence[Question], alpha: float, scale: Scale) -> list[CellPair]:
    """Compare pairs so that the probability of any false positive is at most `alpha`.

    Each pair is fitted separately, as in `fit` for tables of few cells. A pair without common observations is omitted
    from the result.
    """
    found = [(each.least_p_value, fit(each.observations, alpha, scale=scale).pairs) for each in questions]
    known = [(least, pair) for least, (pair, *_) in (each for each in found if each[1])]
    return judge_pairs([pair for _, pair in known], alpha, scale, [least for least, _ in known])


def judge_pairs(
    pairs: Sequence[CellPair], alpha: float, scale: Scale, least_p_values: Sequence[float] = ()
) -> list[CellPair]:
    """Test fitted pairs so that the probability of any false positive is at most `alpha`.

    `least_p_values` contains the p-value of another test for each pair; a difference is significant only if both tests
    find it.
    """
    if not pairs:
        return []
    divisors = some_pairs_divisors(tuple((pair.a, pair.b) for pair in pairs))
    p_values = np.array([_p_value(pair) for pair in pairs])
    decided, levels = step_down(np.maximum(p_values, least_p_values or 0.0), divisors, alpha)
    single = alpha / divisors[0]
    return [
        _judge(pair, bool(yes), float(level), single, scale)
        for pair, yes, level in zip(pairs, decided, levels, strict=True)
    ]


def _p_value(pair: CellPair) -> float:
    """Return the two-sided p-value of a pair, or 1 if the pair has too few common rounds."""
    if pair.rounds < LEAST_ROUNDS:
        return 1.0
    from scipy.special import stdtr  # SciPy is slow to import, and most commands need no statistics

    return float(2 * stdtr(pair.freedom, -abs(_distance(pair)) / pair.error))


def _distance(pair: CellPair) -> float:
    return math.log(pair.ratio) if pair.ratio is not None else pair.difference or 0.0


def _judge(pair: CellPair, decided: bool, level: float, single: float, scale: Scale) -> CellPair:
    """Return a copy of the pair with the test result and the interval. The intervals of all pairs hold simultaneously.

    The interval is adapted to the test result: it excludes equality if and only if the difference is significant.
    """
    if pair.rounds < LEAST_ROUNDS:
        return replace(pair, decided=False, low=None, high=None, level=level)
    distance, half = _distance(pair), quantile(single, pair.freedom) * pair.error
    low = max(distance - half, min(LEAST_DIFFERENCE, distance)) if decided else min(distance - half, 0.0)
    low, high = (on_scale(scale, each) for each in (low, distance + half))
    return replace(pair, decided=decided, low=low, high=high, level=level)
