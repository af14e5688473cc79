"""Turn the interval of a ratio into a verdict on a change. Exactly one verdict applies to each interval."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["much_slower", "slower", "same", "faster", "much_faster", "undecided"]
MARGIN = 1.05
"""A change within this factor counts as "same"."""


def verdict(ratio: float | None, low: float | None, high: float | None, margin: float = MARGIN) -> Verdict:
    """Return the verdict on a change, given the ratio of the new latency to the old latency and the ratio's 95 %
    interval.

    `much_slower`: the whole interval is above the margin. `same`: the whole interval is within the margin, even if it
    excludes 1. `slower`: the whole interval is above 1, but not entirely above the margin. `faster` and `much_faster`
    are the mirror images of `slower` and `much_slower`.
    """
    if ratio is None or low is None or high is None:
        return "undecided"
    if low > margin:
        return "much_slower"
    if high < 1 / margin:
        return "much_faster"
    if low >= 1 / margin and high <= margin:
        return "same"
    if low > 1:
        return "slower"
    return "faster" if high < 1 else "undecided"
