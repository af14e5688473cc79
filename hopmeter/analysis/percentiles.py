"""Percentiles of raw samples. docs/method.md gives the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

PERMILLE = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
BEYOND = 10
"""With fewer samples beyond it a percentile is not resolved."""
QUICK_TRIALS = 5
"""With fewer trials a cell is only a quick look."""

Nanoseconds = NDArray[np.int64]
Samples = NDArray[np.int64] | NDArray[np.float64]


def is_resolved(count: int, permille: int) -> bool:
    """Return whether enough samples are beyond a percentile."""
    return count * (1000 - permille) >= BEYOND * 1000


def resolvable(count: int) -> int:
    """Return the least number of samples that resolves the same percentiles as `count` samples."""
    counts = [least_count(permille) for permille in PERMILLE.values()]
    return max((each for each in counts if each <= count), default=0)


def least_count(permille: int) -> int:
    """Return the fewest samples that resolve a percentile."""
    return math.ceil(BEYOND * 1000 / (1000 - permille))


def estimate(values: Samples, shares: Sequence[float], reorder: bool = False) -> list[float]:
    """Estimate quantiles, resolved or not, with the one estimator of hopmeter: Hyndman and Fan's type 8.

    With `reorder` the function partly sorts `values` and needs no copy of them.
    """
    found: list[float] = np.quantile(values, shares, method="median_unbiased", overwrite_input=reorder).tolist()
    return found


def quantiles(values: Nanoseconds, permilles: Iterable[int], lost: int = 0) -> list[float | None]:
    """Return percentiles, None if not resolved. Reorders `values`, to avoid copying large arrays.

    Lost messages are later than all others: a percentile that is one of them is None.
    """
    wanted = list(permilles)
    shares = {each: _share_of_arrived(each / 1000, len(values), lost) for each in wanted}
    known = [each for each in wanted if is_resolved(len(values) + lost, each) and shares[each] <= 1]
    found = estimate(values, [shares[each] for each in known], reorder=True) if known else []
    by_permille = dict(zip(known, found, strict=True))
    return [by_permille.get(each) for each in wanted]


def estimate_all(values: Nanoseconds, shares: Sequence[float], lost: int) -> list[float | None]:
    """Return quantiles of any number of messages, resolved or not; None for one that is a lost message."""
    arrived = [_share_of_arrived(each, len(values), lost) for each in shares]
    found = iter(estimate(values, [each for each in arrived if each <= 1], reorder=True))
    return [next(found) if each <= 1 else None for each in arrived]


def _share_of_arrived(share: float, arrived: int, lost: int) -> float:
    """Return which quantile of the arrived messages is the quantile of all messages, by the positions of type 8; above
    one if it is a lost message."""
    if not lost:
        return share
    position = (arrived + lost + 1 / 3) * share + 1 / 3
    return (position - 1 / 3) / (arrived + 1 / 3) if position <= arrived else math.inf
