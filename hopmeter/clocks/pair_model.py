"""The clocks of two hosts during a run: their offset, its drift, and the uncertainty of both.

The offset changes linearly from one batch to the next. docs/method.md explains the uncertainty and the residual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopmeter.clocks.batches import Batch, ClockError

Times = NDArray[np.int64]

DISTURBED = 3.0
"""A batch is ignored if its error bound exceeds this multiple of the median error bound."""
NEIGHBOURS = 3
"""The expected drift of an interval is estimated from this many intervals on each side."""
WANDER = 1e-6
"""The maximum change of the drift of two clocks between adjacent intervals, caused by temperature."""
MOST_DRIFT = 500e-6
"""The maximum difference between the rates of two clocks that programs such as chrony correct."""
SPARE_NS = 1.0
"""An allowance, in nanoseconds, for rounding to whole nanoseconds."""


@dataclass(frozen=True)
class Interval:
    """The time between two consecutive batches."""

    begin_ns: int
    end_ns: int
    bound_ns: float
    """The larger of the error bounds of the two batches."""
    deviation_ns: float
    """The change of the offset that the drift of the other intervals does not explain."""
    band_ns: float
    """The largest deviation that can occur if no clock was set or corrected."""

    @property
    def uncertainty_ns(self) -> float:
        """The maximum error of the offset at any time in the interval."""
        return self.bound_ns + self.deviation_ns + SPARE_NS

    @property
    def is_broken(self) -> bool:
        """Whether a clock was set in the interval, or was corrected by more than its drift explains."""
        return self.deviation_ns > self.band_ns


@dataclass(frozen=True)
class Translation:
    """Translates times of one host to the clock of another host, for one trial."""

    knots: tuple[int, ...]
    """Times on the clock of the first host."""
    offsets: tuple[int, ...]
    """The offset to add at each knot. The offset changes linearly between knots."""
    uncertainty_ns: float
    """The maximum error of a translated time."""
    residual_ns: float
    """The maximum difference between the errors of two trials on the same hosts."""

    def apply(self, times: Times) -> Times:
        """Return the times on the clock of the other host. Times before the first or after the last knot are
        extrapolated with the drift of the nearest interval."""
        if len(self.knots) == 1:
            return times + self.offsets[0]
        knots, offsets = np.array(self.knots, np.int64), np.array(self.offsets, np.int64)
        place = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
        slope = np.diff(offsets) / np.diff(knots)
        return times + offsets[place] + np.rint((times - knots[place]) * slope[place]).astype(np.int64)


class PairModel:
    """The clock of the host `there` as a function of the time on the host `here`."""

    def __init__(self, here: str, there: str, batches: Iterable[Batch]) -> None:
        """Fit the model to the batches of one session in which the host `here` asked the host `there`. There must be at
        least one batch."""
        ordered = sorted(batches, key=lambda batch: batch.least.at_ns)
        self.here, self.there = here, there
        self.batches = _reliable(ordered)
        self._at = np.array([each.least.at_ns for each in self.batches], np.int64)
        self._offset = np.array([each.least.offset_ns for each in self.batches], np.int64)
        self._bound = np.array([each.least.bound_ns for each in self.batches], float)

    @property
    def hosts(self) -> set[str]:
        """The names of both hosts."""
        return {self.here, self.there}

    def other(self, host: str) -> str:
        """Return the host of this pair that is not `host`."""
        return self.there if host == self.here else self.here

    def middle_ns(self, host: str) -> int:
        """Return the midpoint of the longest interval between two batches, on the clock of `host`."""
        knots, _ = self._seen_from(host)
        place = int(np.argmax(np.diff(knots)))
        return int(knots[place] + (knots[place + 1] - knots[place]) // 2)

    @cached_property
    def intervals(self) -> list[Interval]:
        """The intervals between the batches."""
        spans, changes = np.diff(self._at).astype(float), np.diff(self._offset).astype(float)
        bands = self._bound[:-1] + self._bound[1:] + WANDER * spans
        bounds = np.maximum(self._bound[:-1], self._bound[1:])
        deviations = [_deviation(place, changes, spans) for place in range(len(spans))]
        return [
            Interval(int(begin), int(end), float(bound), deviation, float(band))
            for begin, end, bound, deviation, band in zip(
                self._at, self._at[1:], bounds, deviations, bands, strict=False
            )
        ]

    @cached_property
    def residual_ns(self) -> float:
        """The largest deviation of a batch's offset from the line between the offsets of the batches before and after
        it. If there are fewer than three batches, the residual is the largest error bound of any batch.

        The error of one trial may differ by up to the residual from the error that all trials share.
        """
        whole = float(self._bound.max())
        if len(self._at) < 3:
            return whole
        spans, offsets = np.diff(self._at).astype(float), (self._offset - self._offset[0]).astype(float)
        line = (offsets[:-2] * spans[1:] + offsets[2:] * spans[:-1]) / (spans[:-1] + spans[1:])
        return min(whole, float(np.abs(offsets[1:-1] - line).max()) + SPARE_NS)

    @property
    def uncertainty_ns(self) -> float:
        """The largest uncertainty of all intervals in which no clock was set. If there is only one batch, the
        uncertainty is the error bound of that batch."""
        found = [each.uncertainty_ns for each in self.intervals if not each.is_broken]
        return max(found, default=float(self._bound.max()))

    @property
    def drift_ppm(self) -> float | None:
        """The drift from the first to the last batch in ppm. The drift is positive if the clock of `there` is faster
        than the clock of `here`."""
        span = int(self._at[-1] - self._at[0])
        return None if span == 0 else float(self._offset[-1] - self._offset[0]) / span * 1e6

    def translation(self, origin: str, begin_ns: int, end_ns: int) -> Translation:
        """Return the translation for times from `begin_ns` to `end_ns` on the host `origin`.

        Raises ClockError if there is no batch before `begin_ns` or after `end_ns`, or if a clock was set or corrected
        between these batches.
        """
        knots, offsets = self._seen_from(origin)
        first, last = self._place(knots, begin_ns, end_ns)
        spanned = self.intervals[first:last]
        if broken := [each for each in spanned if each.is_broken]:
            raise self._step_error(broken[0])
        return Translation(
            tuple(map(int, knots[first : last + 1])),
            tuple(map(int, offsets[first : last + 1])),
            max(each.uncertainty_ns for each in spanned),
            self.residual_ns,
        )

    def predict(self, origin: str, at_ns: int) -> tuple[int, float]:
        """Translate a time of the host `origin` to the clock of the other host, and return the translated time with its
        uncertainty.

        If the time is later than all batches, the uncertainty grows with the drift.
        """
        knots, offsets = self._seen_from(origin)
        drift, doubt = 0.0, MOST_DRIFT
        if len(knots) > 1:
            span = float(knots[-1] - knots[-2])
            doubt = float(self._bound[-1] + self._bound[-2]) / span + WANDER
            drift = float(offsets[-1] - offsets[-2]) / span
        if doubt >= MOST_DRIFT:
            drift, doubt = 0.0, MOST_DRIFT
        beyond = at_ns - int(knots[-1])
        uncertainty_ns = float(self._bound[-1]) + abs(beyond) * doubt + SPARE_NS
        return at_ns + int(offsets[-1]) + round(beyond * drift), uncertainty_ns

    def _seen_from(self, origin: str) -> tuple[Times, Times]:
        """Return the times of the batches on the clock of `origin`, and the offset to add to each of these times."""
        if origin == self.here:
            return self._at, self._offset
        return self._at + self._offset, -self._offset

    def _place(self, knots: Times, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the indices of the last batch before `begin_ns` and of the first batch after `end_ns`."""
        before = np.flatnonzero((knots[:-1] <= begin_ns) & (begin_ns < knots[1:]))
        after = np.flatnonzero((knots[:-1] < end_ns) & (end_ns <= knots[1:]))
        if not len(before) or not len(after):
            raise ClockError(
                "E-CLOCK-UNKNOWN",
                f"the clocks of {self.here} and {self.there} were not compared before and after the trial",
                "measure the trial again",
            )
        return int(before[0]), int(after[-1]) + 1  # a clock that was set back shows the same time twice

    def _step_error(self, found: Interval) -> ClockError:
        return ClockError(
            "E-CLOCK-STEP",
            f"the clocks of {self.here} and {self.there} moved by {found.deviation_ns / 1000:.3g} us during the trial; "
            f"bounds and drift explain only {found.band_ns / 1000:.3g} us",
            "stop what corrects the clocks during the run, such as NTP, and measure the trial again",
        )


def _reliable(batches: Sequence[Batch]) -> list[Batch]:
    """Return the batches with small error bounds, in order of increasing time. The first and the last batch are always
    included."""
    most = DISTURBED * float(np.median([batch.least.bound_ns for batch in batches]))
    ends = (batches[0], batches[-1])
    kept = [batch for batch in batches if batch in ends or batch.least.bound_ns <= most]
    return [each for before, each in zip([None, *kept], kept, strict=False) if before is None or _later(each, before)]


def _later(one: Batch, other: Batch) -> bool:
    return one.least.at_ns > other.least.at_ns


def _deviation(place: int, changes: NDArray[np.float64], spans: NDArray[np.float64]) -> float:
    """Return how much of the offset's change in one interval the drift of the nearest other intervals does not explain.

    The drift of each nearby interval predicts a change; the difference from the actual change is unexplained. The
    result is the median of the unexplained differences, weighted by interval length. If there are no other intervals, a
    drift of up to `MOST_DRIFT` counts as explained.
    """
    near = range(max(0, place - NEIGHBOURS), min(len(spans), place + NEIGHBOURS + 1))
    others = [each for each in near if each != place]
    if not others:
        return max(0.0, abs(float(changes[place])) - MOST_DRIFT * float(spans[place]))
    expected = changes[others] / spans[others] * spans[place]
    left = np.abs(changes[place] - expected)
    order = np.argsort(left)
    reached = np.cumsum(spans[others][order]) >= spans[others].sum() / 2
    return float(left[order][int(np.argmax(reached))])
