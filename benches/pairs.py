"""Ours against theirs: interleaved pairs, the median of their ratios, and an interval for it."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

NAME_WIDTH = 56
PAIRS = int(os.environ.get("HOPMETER_PAIRS", "10"))
"""Ten pairs give the median an interval (the second to the ninth ratio, 97.9 %) that one outlier does not move.
Fewer, by HOPMETER_PAIRS, are for trying a bench out."""


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
        count = len(self.ours)
        return max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))

    @property
    def holds(self) -> bool:
        """False only where even the better end of an interval is beyond its limit."""
        return (self.limit is None or self.interval[0] <= self.limit) and self.is_fast

    @property
    def is_fast(self) -> bool:
        """Whether ours stays within `most`, as far as theirs does and can be told."""
        if self.most is None or statistics.median(self.theirs) > self.most:
            return True
        return sorted(self.ours)[self._beyond] <= self.most

    def line(self) -> str:
        """As it is printed."""
        ours, theirs, ratio = (statistics.median(each) for each in (self.ours, self.theirs, self.ratios))
        low, high = self.interval
        verdict = "holds" if self.holds else "MISSED"
        limits = [f"{self.limit:g}"] if self.limit is not None else []
        limits += [f"{self.most:g} {self.unit}"] if self.most is not None else []
        limit = f"limit {' and '.join(limits)}: {verdict}" if limits else "told"
        figures = f"{ours:10.3f} {theirs:10.3f} {self.unit}   {ratio:5.2f} [{low:.2f}, {high:.2f}]"
        return f"{self.name:{NAME_WIDTH}} {figures}   {limit}"


def told(comparisons: Iterable[Comparison]) -> int:
    """Prints all and answers the exit code."""
    every = list(comparisons)
    print(f"{'':{NAME_WIDTH}} {'ours':>10} {'theirs':>10}      ratio [interval], {PAIRS} interleaved pairs")
    for each in every:
        print(each.line(), flush=True)
    return 0 if all(each.holds for each in every) else 1
