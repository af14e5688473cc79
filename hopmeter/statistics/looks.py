"""Schedule the interim analyses ("looks") of a run with a budget, and divide the significance level among the looks.

Each look can make a false decision, so all looks share one significance level. The Lan-DeMets spending function of the
O'Brien-Fleming type limits how much of the significance level each look spends. The significance levels of all looks
sum to at most `ALPHA`. This bound on the sum limits the error rate even if the results of the looks depend on each
other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hopmeter.statistics.ranking import ALPHA, CellPair, Ranking, on_scale, rank_ranges

LEAST_ROUNDS_FOR_LOOK = 5
MOST_LOOKS = 4
LEAST_ROUNDS_FOR_WIDTH = 8
"""The minimum number of rounds for a reliable width of an interval."""
WIDTH_ALLOWANCE = 1.15
"""An interval must be narrower than requested by this factor, because the first sufficiently narrow interval is often
narrow by chance."""


def spend(share_of_rounds: float, spent_so_far: float, alpha: float = ALPHA) -> float:
    """Return the significance level to use for the next look. The caller passes the returned level to `fit`, and adds
    it to `spent_so_far`.

    `share_of_rounds` is the number of finished rounds divided by the number of rounds that fit into the budget. For the
    last look, `share_of_rounds` is 1. Intervals at the returned significance levels are repeated confidence intervals,
    which hold simultaneously over all looks.
    """
    from scipy.special import ndtr, ndtri  # SciPy is slow to import, and most commands need no statistics

    if share_of_rounds <= 0:
        return 0.0
    allowed = 2 * ndtr(ndtri(alpha / 2) / math.sqrt(min(share_of_rounds, 1.0)))
    return max(float(allowed) - spent_so_far, 0.0)


def level_of_result(looks: Sequence[Mapping[str, Any]], rounds: int) -> float:
    """Return the significance level of the final result after `rounds` rounds. `looks` contains the looks that
    `run.json` records.

    If rounds were added after the last look, as in an interrupted run, the final result uses the whole remaining
    significance level.
    """
    left = ALPHA - math.fsum(each["alpha"] for each in looks)
    has_new_rounds = not looks or rounds > looks[-1]["rounds"]
    return left if has_new_rounds and left > 0 else float(looks[-1]["alpha"])


def look_rounds(rounds_that_fit: int) -> tuple[int, ...]:
    """Return the numbers of rounds after which a run takes a look: at most four numbers, each about 1.5 times the
    previous number.

    The last number is `rounds_that_fit`. All numbers except the last are at least `LEAST_ROUNDS_FOR_LOOK`.
    """
    found = [rounds_that_fit]
    while len(found) < MOST_LOOKS and (earlier := round(found[0] / 1.5)) >= LEAST_ROUNDS_FOR_LOOK:
        found.insert(0, earlier)
    return tuple(found)


def retain_decisions(earlier: Ranking, later: Ranking) -> Ranking:
    """Return the ranking of the later look, but retain each pair that differs significantly only in the earlier look.

    A retained pair has the interval of the earlier look, extended to contain the later estimate. The extended interval
    is valid if `spend` determined the significance levels of both looks. A pair is not retained if the later estimate
    reverses the order of the pair's cells.
    """
    decided = {each.cells: each for each in earlier.pairs if each.decided}
    pairs = tuple(_retain(decided.get(each.cells), each, later) for each in later.pairs)
    return replace(later, pairs=pairs, ranks=rank_ranges(later.choices, pairs))


def _retain(earlier: CellPair | None, later: CellPair, ranking: Ranking) -> CellPair:
    if earlier is None or earlier.low is None or earlier.high is None or later.decided:
        return later
    seen = ranking.distance(earlier.a, earlier.b)
    if seen <= on_scale(ranking.scale, 0.0):
        return later
    return replace(earlier, low=min(earlier.low, seen), high=max(earlier.high, seen), stopped_early=True)


def is_precise(result: Ranking, cell: str, within: float = 0.05) -> bool:
    """Return whether at least eight rounds determine a cell's level with a relative precision of `within`."""
    value, low, high = result.levels[cell]
    if low is None or high is None or result.rounds[cell] < LEAST_ROUNDS_FOR_WIDTH:
        return False
    return WIDTH_ALLOWANCE * max(value - low, high - value) <= within * abs(value)
