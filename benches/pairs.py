"""Compare hopmeter (ours) with a bare program (theirs) in interleaved pairs: the median ratio and its interval."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

NAME_WIDTH = 56
PAIRS = int(os.environ.get("HOPMETER_PAIRS", "10"))
"""The number of pairs. With ten pairs, the interval of the median reaches from the second to the ninth ratio (97.9 %),
which excludes a single outlier. Set HOPMETER_PAIRS to a smaller number for a quick trial."""
MOST_PAIRS = 3 * PAIRS
"""The total number of pairs if the limit is missed after the first PAIRS pairs. Stopping at the first median within the
limit would bias the result."""
ROUNDS = {64: 10_000, 1_000_000: 500}
"""The number of round trips per measurement, by message size in bytes."""
Ours, Theirs = TypeVar("Ours"), TypeVar("Theirs")
HOLDS, UNRESOLVED, MISSED = "holds", "not resolved", "MISSED"
"""The verdicts: the median is within the limit; only a part of the interval is within the limit; the whole interval
exceeds the limit."""


@dataclass
class Comparison:
    """The ratio of hopmeter's cost to the bare program's cost. `limit` is None if the ratio is only reported."""

    name: str
    limit: float | None
    unit: str = "us"
    most: float | None = None
    """An absolute limit on hopmeter's cost, which applies only if the bare program's cost is within the limit."""
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def add(self, ours: float, theirs: float) -> None:
        """Add a pair whose two sides were measured directly one after the other."""
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each pair, in ascending order."""
        return sorted(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    @property
    def interval(self) -> tuple[float, float]:
        """A distribution-free interval of the median ratio, with at least 95 % confidence for ten pairs."""
        return self.ratios[self._beyond], self.ratios[-1 - self._beyond]

    @property
    def _beyond(self) -> int:
        return values_beyond(self.pairs)

    @property
    def pairs(self) -> int:
        return len(self.ours)

    @property
    def wants_more(self) -> bool:
        """Whether the comparison needs another pair, so that a single busy minute does not cause a missed limit."""
        if self.pairs < PAIRS:
            return True
        first = replace(self, ours=self.ours[:PAIRS], theirs=self.theirs[:PAIRS])
        return self.pairs < MOST_PAIRS and first.verdict != HOLDS

    @property
    def verdict(self) -> str:
        """The worse of the two verdicts: on the limit of the ratio, and on the absolute limit."""
        verdicts = [
            judge_values(self.ratios, self._beyond, self.limit),
            judge_values(sorted(self.ours), self._beyond, self._most),
        ]
        return max(verdicts, key=(HOLDS, UNRESOLVED, MISSED).index)

    @property
    def _most(self) -> float | None:
        """The absolute limit, or None if the bare program exceeds it."""
        return self.most if self.most is not None and statistics.median(self.theirs) <= self.most else None

    def line(self) -> str:
        ours, theirs, ratio = (statistics.median(each) for each in (self.ours, self.theirs, self.ratios))
        low, high = self.interval
        limits = [f"{self.limit:g}"] if self.limit is not None else []
        limits += [f"{self.most:g} {self.unit}"] if self.most is not None else []
        limit = f"limit {' and '.join(limits)}: {self.verdict}" if limits else "no limit"
        figures = f"{ours:10.3f} {theirs:10.3f} {self.unit}   {ratio:5.2f} [{low:.2f}, {high:.2f}] of {self.pairs}"
        return f"{self.name:{NAME_WIDTH}} {figures}   {limit}"


def values_beyond(many: int) -> int:
    """Return how many of `many` sorted values are below the median's interval, which is also the number above the
    interval."""
    return max(0, math.floor((many - 1.96 * math.sqrt(many)) / 2))


def judge_values(ascending: list[float], beyond: int, limit: float | None) -> str:
    """Return the verdict on sorted values whose interval excludes `beyond` values on each side."""
    if limit is None or statistics.median(ascending) <= limit:
        return HOLDS
    return UNRESOLVED if ascending[beyond] <= limit else MISSED


class Wanting(Protocol):
    """A comparison that may need more pairs."""

    @property
    def wants_more(self) -> bool: ...


def pair_rounds(all_of: Iterable[Wanting]) -> Iterator[int]:
    """Yield the number of each round until no comparison needs another pair. Comparisons may be added during the
    iteration."""
    for number in range(MOST_PAIRS):
        if number >= PAIRS and not any(each.wants_more for each in all_of):
            return
        yield number


def sequential(index: int, ours: Callable[[], Ours], theirs: Callable[[], Theirs]) -> tuple[Ours, Theirs]:
    """Run both functions directly one after the other, and return their results.

    The order alternates between pairs, because on some machines the first program after a pause is a few per cent
    slower or faster.
    """
    if index % 2 == 0:
        return ours(), theirs()
    last = theirs()
    return ours(), last


def print_comparisons(comparisons: Iterable[Comparison]) -> int:
    """Print all comparisons. Return 1 if a limit is missed, otherwise 0."""
    every = list(comparisons)
    print(f"{'':{NAME_WIDTH}} {'ours':>10} {'theirs':>10}      ratio [interval] of the number of interleaved pairs")
    for each in every:
        print(each.line(), flush=True)
    return int(any(each.verdict == MISSED for each in every))
