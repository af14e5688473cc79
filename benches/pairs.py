"""Ours against theirs: interleaved pairs, the median of their ratios, and an interval for it."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

NAME_WIDTH = 56
PAIRS = int(os.environ.get("HOPMETER_PAIRS", "10"))
"""Ten pairs give the median an interval (the second to the ninth ratio, 97.9 %) that one outlier does not move.
Fewer, by HOPMETER_PAIRS, are for trying a bench out."""
MOST_PAIRS = 3 * PAIRS
"""Where by the first a limit does not hold. Nobody looks in between: stopping at the first median that suits would be
choosing it."""
ROUNDS = {64: 10_000, 1_000_000: 500}
"""Round trips of one measurement, by bytes: enough to last longer than what comes between on a shared machine."""
Ours, Theirs = TypeVar("Ours"), TypeVar("Theirs")
HOLDS, UNRESOLVED, MISSED = "holds", "not resolved", "MISSED"
"""The median within the limit; beyond it, but not the whole interval; the whole interval beyond it."""


@dataclass
class Comparison:
    """One question: what ours costs in terms of theirs. `limit` is None where the ratio is only told."""

    name: str
    limit: float | None
    unit: str = "us"
    most: float | None = None
    """Ours has to stay within it where theirs does."""
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def add(self, ours: float, theirs: float) -> None:
        """One pair, measured one right after the other."""
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each pair, ascending."""
        return sorted(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    @property
    def interval(self) -> tuple[float, float]:
        """A distribution-free interval of the median, at least 95 % where there are ten pairs."""
        return self.ratios[self._beyond], self.ratios[-1 - self._beyond]

    @property
    def _beyond(self) -> int:
        return max(0, math.floor((self.pairs - 1.96 * math.sqrt(self.pairs)) / 2))

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.ours)

    @property
    def wants_more(self) -> bool:
        """Whether another pair is to be measured: a busy minute makes a miss of what is none."""
        if self.pairs < PAIRS:
            return True
        first = replace(self, ours=self.ours[:PAIRS], theirs=self.theirs[:PAIRS])
        return self.pairs < MOST_PAIRS and first.verdict != HOLDS

    @property
    def verdict(self) -> str:
        """The worse of what the two limits say."""
        verdicts = [
            _verdict(self.ratios, self._beyond, self.limit),
            _verdict(sorted(self.ours), self._beyond, self._most),
        ]
        return max(verdicts, key=(HOLDS, UNRESOLVED, MISSED).index)

    @property
    def _most(self) -> float | None:
        """Where theirs stays within it."""
        return self.most if self.most is not None and statistics.median(self.theirs) <= self.most else None

    def line(self) -> str:
        """As it is printed."""
        ours, theirs, ratio = (statistics.median(each) for each in (self.ours, self.theirs, self.ratios))
        low, high = self.interval
        limits = [f"{self.limit:g}"] if self.limit is not None else []
        limits += [f"{self.most:g} {self.unit}"] if self.most is not None else []
        limit = f"limit {' and '.join(limits)}: {self.verdict}" if limits else "told"
        figures = f"{ours:10.3f} {theirs:10.3f} {self.unit}   {ratio:5.2f} [{low:.2f}, {high:.2f}] of {self.pairs}"
        return f"{self.name:{NAME_WIDTH}} {figures}   {limit}"


def _verdict(ascending: list[float], beyond: int, limit: float | None) -> str:
    """Of figures whose interval leaves so many out at either end."""
    if limit is None or statistics.median(ascending) <= limit:
        return HOLDS
    return UNRESOLVED if ascending[beyond] <= limit else MISSED


class Wanting(Protocol):
    """Something that is measured in pairs."""

    @property
    def wants_more(self) -> bool: ...


def until_told(all_of: Iterable[Wanting]) -> Iterator[int]:
    """Numbers the rounds of pairs, until nothing wants more; what is found on the way counts too."""
    for number in range(MOST_PAIRS):
        if number >= PAIRS and not any(each.wants_more for each in all_of):
            return
        yield number


def in_turn(index: int, ours: Callable[[], Ours], theirs: Callable[[], Theirs]) -> tuple[Ours, Theirs]:
    """What both answer, one right after the other. Who is first changes from pair to pair: being first, after a while
    without work, is worth some per cent on some machines."""
    if index % 2 == 0:
        return ours(), theirs()
    last = theirs()
    return ours(), last


def told(comparisons: Iterable[Comparison]) -> int:
    """Prints all and answers the exit code: 1 where a limit is missed."""
    every = list(comparisons)
    print(f"{'':{NAME_WIDTH}} {'ours':>10} {'theirs':>10}      ratio [interval] of so many interleaved pairs")
    for each in every:
        print(each.line(), flush=True)
    return int(any(each.verdict == MISSED for each in every))
