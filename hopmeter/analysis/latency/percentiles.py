"""Compute percentiles of samples. docs/method.md explains the choices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

PERMILLE = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
BEYOND = 10
"""A percentile is resolved only if at least this many samples are slower."""
QUICK_TRIALS = 5
"""A cell with fewer trials than this is marked `quick`, because its results are only a first impression."""

State = Literal["known", "lost", "few"]
"""Whether a percentile is known, falls on a lost message, or is unresolved because too few messages are slower."""

Nanoseconds = NDArray[np.int64]
Samples = NDArray[np.int64] | NDArray[np.float64]


def is_resolved(count: int, permille: int) -> bool:
    """Return whether enough samples are slower than a percentile to resolve the percentile."""
    return count * (1000 - permille) >= BEYOND * 1000


def resolvable(count: int) -> int:
    """Return the smallest number of samples that resolves every percentile that `count` samples resolve."""
    counts = [least_count(permille) for permille in PERMILLE.values()]
    return max((each for each in counts if each <= count), default=0)


def least_count(permille: int) -> int:
    """Return the minimum number of samples that resolves a percentile."""
    return math.ceil(BEYOND * 1000 / (1000 - permille))


def state(arrived: int, lost: int, permille: int) -> State:
    """Return whether a percentile of all messages is known, lost or unresolved.

    The state is "lost" if so many messages were lost that a longer trial would not resolve the percentile either.
    """
    count, share = arrived + lost, permille / 1000
    if not count:
        return "few"
    resolved = is_resolved(count, permille)
    if lost and _share_of_arrived(share, arrived, lost) > 1:
        return "lost" if resolved or lost * 1000 >= count * (1000 - permille) else "few"
    return "known" if resolved else "few"


def quantiles(values: Nanoseconds, permilles: Iterable[int], lost: int) -> list[float | None]:
    """Return percentiles of all messages. A percentile that is unresolved or lost is None.

    `values` is reordered in place, to avoid copying large arrays.
    """
    wanted = list(permilles)
    known = [each for each in wanted if state(len(values), lost, each) == "known"]
    found = dict(zip(known, estimate(values, [each / 1000 for each in known], lost, reorder=True), strict=True))
    return [found.get(each) for each in wanted]


def estimate(values: Samples, shares: Sequence[float], lost: int, reorder: bool = False) -> list[float | None]:
    """Estimate quantiles of all messages with type 8 of Hyndman and Fan, even if there are too few messages to resolve
    them. hopmeter computes all quantiles with type 8 of Hyndman and Fan.

    `values` contains the messages that arrived; the `lost` messages count as later than all messages that arrived. A
    quantile that falls on a lost message is None. If `reorder` is True, the function partly sorts `values` instead of
    copying them.
    """
    arrived = [_share_of_arrived(each, len(values), lost) for each in shares]
    known = [each for each in arrived if each <= 1]
    found = np.quantile(values, known, method="median_unbiased", overwrite_input=reorder).tolist() if known else []
    return [found.pop(0) if each <= 1 else None for each in arrived]


def _share_of_arrived(share: float, arrived: int, lost: int) -> float:
    """Convert a quantile of all messages to a quantile of the arrived messages, or infinity if the quantile falls on a
    lost message."""
    if not lost:
        return share if arrived else math.inf
    position = (arrived + lost + 1 / 3) * share + 1 / 3
    return (position - 1 / 3) / (arrived + 1 / 3) if position <= arrived else math.inf
