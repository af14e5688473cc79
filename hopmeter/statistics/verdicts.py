"""What an interval of a ratio says about a change. Verdicts do not overlap."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["much_slower", "slower", "same", "faster", "much_faster", "undecided"]
MARGIN = 1.05
"""A change within this factor is called the same."""


def verdict(ratio: float | None, low: float | None, high: float | None, margin: float = MARGIN) -> Verdict:
    """Return the verdict on new divided by old latency from one 95 % interval.

    `much_slower`: wholly above the margin; `same`: wholly within it, even if it excludes 1; `slower`: above 1.
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
