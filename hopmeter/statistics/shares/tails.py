"""Compute the interval of a high percentile from trials that are each too short to resolve the percentile. p99 is below
a threshold if and only if less than 1 % of the messages are later than the threshold. A lost message is later than any
threshold. docs/method.md explains the method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.statistics.observations import Floats
from hopmeter.statistics.shares.late_shares import Dispersion, measure_dispersion, share_interval, trials_needed

LEAST_LATE = 10
"""The minimum number of late messages at a threshold from which the dispersion can be estimated."""
SEARCHED = 20
"""The lower bound is searched for among the slowest messages. Their share is `SEARCHED` times `beyond`."""
THRESHOLDS = 400
"""The maximum number of samples that serve as thresholds."""

Samples = NDArray[Any]


@dataclass(frozen=True)
class Tail:
    """The numbers of late messages in each trial at several thresholds. The thresholds are in descending order, so the
    numbers of late messages increase along the threshold axis."""

    beyond: float
    """The share of messages beyond the percentile, such as 0.01 for p99."""
    thresholds: Floats
    late: Floats
    """The number of messages later than each threshold, as an array with the axes trial and threshold."""
    counts: Floats
    """The number of messages in each trial, including lost messages."""

    @cached_property
    def dispersion(self) -> Dispersion:
        """Return the dispersion from which the interval at each threshold is computed.

        This is the larger of the dispersion near the threshold and the dispersion where twice the allowed number of
        messages are late.
        """
        raw = measure_dispersion(self.late, self.counts)
        near = np.maximum(np.arange(len(self.thresholds)), self._first_with(LEAST_LATE))
        twice = np.maximum(near, self._first_with(2 * self.beyond * self.counts.sum()))
        return Dispersion(
            np.maximum(raw.factor[near], raw.factor[twice]), np.minimum(raw.freedom[near], raw.freedom[twice])
        )

    def _first_with(self, late: float) -> int:
        """Return the index of the first threshold at which at least `late` messages are late. If fewer messages are
        late at every threshold, return the index of the last threshold."""
        return min(int(np.searchsorted(self.late.sum(axis=0), late)), len(self.thresholds) - 1)

    def bounds(self, alpha: float) -> tuple[float, float]:
        """Return the confidence interval of the percentile. A bound is infinite if there are too few messages or too
        many lost messages."""
        low, high = share_interval(self.late.sum(axis=0), self.counts.sum(), self.dispersion, alpha)
        few = int(np.logical_and.accumulate(high < self.beyond).sum())
        many = int(np.logical_and.accumulate((low > self.beyond)[::-1]).sum())
        return self._lower_end(many), float(self.thresholds[few - 1]) if few else self._beyond_all(float(high[0]))

    def _lower_end(self, many: int) -> float:
        """Return the lower bound, which is just above the highest of the `many` lowest thresholds; too many messages
        are later than each of these."""
        if many == len(self.thresholds):
            return math.inf
        return float(np.nextafter(self.thresholds[-many], math.inf)) if many else -math.inf

    def _beyond_all(self, share: float) -> float:
        """Return the upper bound for the case that up to `share` of the messages are later than all observed messages.

        The extrapolation of the tail assumes that doubling a threshold at least halves the number of later messages.
        """
        return float(self.thresholds[0]) * share / self.beyond if self._is_extensible else math.inf

    @property
    def _is_extensible(self) -> bool:
        return bool(self.thresholds[0] > 0 and not self.late[:, 0].any())

    def trials_needed(self, threshold: float, alpha: float) -> int | None:
        """Return how many trials are needed to show on which side of a threshold the percentile is, if the shares stay
        constant. Return None if too many trials are needed."""
        at = min(int(np.searchsorted(-self.thresholds, -threshold)), len(self.thresholds) - 1)
        seen = Dispersion(self.dispersion.factor[at], self.dispersion.freedom[at])
        times = max(threshold / self.thresholds[0], 1.0) if self._is_extensible else 1.0
        late = float(self.late[:, at].mean())
        return trials_needed(late, float(self.counts.mean()), len(self.counts), seen, times * self.beyond, alpha)


def count_late(trials: Sequence[Samples], lost: Sequence[int], beyond: float) -> Tail:
    """Count the late messages of each trial. `lost` contains the number of lost messages in each trial. In each trial,
    at least one message must have arrived."""
    both = list(zip(trials, lost, strict=True))
    thresholds = _thresholds(np.concatenate(list(trials)).astype(float), beyond)
    late = [_later_than(values, thresholds) + gone for values, gone in both]
    return Tail(
        beyond, thresholds, np.array(late, float), np.array([len(values) + gone for values, gone in both], float)
    )


def _later_than(samples: Samples, thresholds: Floats) -> NDArray[np.intp]:
    return len(samples) - np.searchsorted(np.sort(samples), thresholds, "right")


def _thresholds(samples: Floats, beyond: float) -> Floats:
    """Return thresholds in descending order, starting with the largest sample. All of the largest samples become
    thresholds, but only some of the smaller samples do.

    Each chosen sample adds another threshold just below the sample, because many samples may be equal.
    """
    deepest = min(len(samples), math.ceil(SEARCHED * beyond * len(samples)) + LEAST_LATE)
    ordered = np.sort(np.partition(samples, len(samples) - deepest)[len(samples) - deepest :])[::-1]
    chosen = ordered[np.geomspace(1, deepest, THRESHOLDS).astype(int) - 1]
    return np.unique([*chosen, *np.nextafter(chosen, -math.inf)])[::-1]
