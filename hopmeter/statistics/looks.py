"""When to look at the rounds, and what each look costs.

Each look at the data could decide wrongly, so all looks together share the level. A look spends what the spending
function of Lan and DeMets (after O'Brien and Fleming) allows at its share of the rounds, less what earlier looks spent.
The sum of the levels bounds the error of the whole rule, whatever depends on what.
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
"""Fewer rounds do not show how wide an interval really is."""
WIDTH_ALLOWANCE = 1.15
"""How much narrower than required an interval must be: the first that is narrow enough is narrow by chance."""


def spend(share_of_rounds: float, spent_so_far: float, alpha: float = ALPHA) -> float:
    """Return the level of this look: pass it to `fit`, and add it to what is spent.

    `share_of_rounds` is the number of rounds so far divided by the number that fits the budget; the last look has 1.
    The intervals of a look at this level are repeated confidence intervals: those of all looks hold at once.
    """
    from scipy.special import ndtr, ndtri  # slow to load, and most commands need no statistics

    if share_of_rounds <= 0:
        return 0.0
    allowed = 2 * ndtr(ndtri(alpha / 2) / math.sqrt(min(share_of_rounds, 1.0)))
    return max(float(allowed) - spent_so_far, 0.0)


def level_of_result(looks: Sequence[Mapping[str, Any]], rounds: int) -> float:
    """Return the level for the result of `rounds` rounds after these looks, which `run.json` lists.

    An interrupted run has rounds that no look has seen: its result spends all that is left.
    """
    left = ALPHA - math.fsum(each["alpha"] for each in looks)
    has_new_rounds = not looks or rounds > looks[-1]["rounds"]
    return left if has_new_rounds and left > 0 else float(looks[-1]["alpha"])


def look_rounds(rounds_that_fit: int) -> tuple[int, ...]:
    """Return after which rounds to look: at most four times, each with half as many rounds again as before.

    No look has fewer than `LEAST_ROUNDS_FOR_LOOK` rounds, except the last if no more rounds fit.
    """
    found = [rounds_that_fit]
    while len(found) < MOST_LOOKS and (earlier := round(found[0] / 1.5)) >= LEAST_ROUNDS_FOR_LOOK:
        found.insert(0, earlier)
    return tuple(found)


def retain_decisions(earlier: Ranking, later: Ranking) -> Ranking:
    """Return the later ranking with the pairs that an earlier look decided and the later one did not.

    Such a pair keeps the interval of that look, which holds as well as the later ones if `spend` gave the levels; it is
    extended to the ratio of the later levels. If their order is the other way round, the later look counts.
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
    """Say whether a cell's own value is known to a share, such as 5 %, which takes at least eight rounds."""
    value, low, high = result.levels[cell]
    if low is None or high is None or result.rounds[cell] < LEAST_ROUNDS_FOR_WIDTH:
        return False
    return WIDTH_ALLOWANCE * max(value - low, high - value) <= within * abs(value)
