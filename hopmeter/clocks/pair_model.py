"""The clocks of two hosts during a run: offset, drift, and by how much both may be wrong.

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
"""A batch whose bound is more times the median bound than this makes the model worse, not better."""
NEIGHBOURS = 3
"""On each side so many intervals show what drift is to be expected."""
WANDER = 1e-6
"""By how much the drift of two clocks may change from one interval to the next while both only get warmer or colder."""
MOST_DRIFT = 500e-6
"""The most by which the rates of two clocks differ that a program corrects."""
SPARE_NS = 1.0
"""For rounding to whole nanoseconds."""


@dataclass(frozen=True)
class Interval:
    """The time between two batches."""

    begin_ns: int
    end_ns: int
    bound_ns: float
    """The larger one of the bounds of both batches."""
    deviation_ns: float
    """By how much the offset changed beyond the drift of the other intervals."""
    band_ns: float
    """How large the deviation may be if no clock was set or corrected."""

    @property
    def uncertainty_ns(self) -> float:
        """The most by which the offset may be wrong at any time of the interval."""
        return self.bound_ns + self.deviation_ns + SPARE_NS

    @property
    def is_broken(self) -> bool:
        """Whether a clock was set, or corrected by more than clocks drift."""
        return self.deviation_ns > self.band_ns


@dataclass(frozen=True)
class Translation:
    """Translates times of one host to the clock of another, for the time of one trial."""

    knots: tuple[int, ...]
    """Times of the first host."""
    offsets: tuple[int, ...]
    """What to add at each knot; between two knots it changes linearly."""
    uncertainty_ns: float
    """The most by which a translated time may be wrong."""
    residual_ns: float
    """By how much this error may differ from that of another trial of the same hosts."""

    def apply(self, times: Times) -> Times:
        """Return the times on the clock of the other host; before the first and after the last knot drift goes on."""
        if len(self.knots) == 1:
            return times + self.offsets[0]
        knots, offsets = np.array(self.knots, np.int64), np.array(self.offsets, np.int64)
        place = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
        slope = np.diff(offsets) / np.diff(knots)
        return times + offsets[place] + np.rint((times - knots[place]) * slope[place]).astype(np.int64)


class PairModel:
    """The clock of the host `there` by the times of the host `here`."""

    def __init__(self, here: str, there: str, batches: Iterable[Batch]) -> None:
        """Fit the batches of one session in which `here` asked `there`; at least one."""
        ordered = sorted(batches, key=lambda batch: batch.least.at_ns)
        self.here, self.there = here, there
        self.batches = _reliable(ordered)
        self._at = np.array([each.least.at_ns for each in self.batches], np.int64)
        self._offset = np.array([each.least.offset_ns for each in self.batches], np.int64)
        self._bound = np.array([each.least.bound_ns for each in self.batches], float)

    @property
    def hosts(self) -> set[str]:
        """Both hosts."""
        return {self.here, self.there}

    def other(self, host: str) -> str:
        """Return the host that is not this one."""
        return self.there if host == self.here else self.here

    def middle_ns(self, host: str) -> int:
        """Return the middle of the longest time between two batches, on the clock of one of the hosts."""
        knots, _ = self._seen_from(host)
        place = int(np.argmax(np.diff(knots)))
        return int(knots[place] + (knots[place + 1] - knots[place]) // 2)

    @cached_property
    def intervals(self) -> list[Interval]:
        """The times between the batches."""
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
        """By how much the offset of a batch differs most from a line between its neighbours, which is how much the
        error of one trial may differ from the common error of all. With less than three batches only the bound is
        known."""
        whole = float(self._bound.max())
        if len(self._at) < 3:
            return whole
        spans, offsets = np.diff(self._at).astype(float), (self._offset - self._offset[0]).astype(float)
        line = (offsets[:-2] * spans[1:] + offsets[2:] * spans[:-1]) / (spans[:-1] + spans[1:])
        return min(whole, float(np.abs(offsets[1:-1] - line).max()) + SPARE_NS)

    @property
    def uncertainty_ns(self) -> float:
        """The largest uncertainty of the times between batches in which no clock was set; with one batch its bound."""
        found = [each.uncertainty_ns for each in self.intervals if not each.is_broken]
        return max(found, default=float(self._bound.max()))

    @property
    def drift_ppm(self) -> float | None:
        """By how much the clock there gains on the clock here, from the first to the last batch."""
        span = int(self._at[-1] - self._at[0])
        return None if span == 0 else float(self._offset[-1] - self._offset[0]) / span * 1e6

    def translation(self, origin: str, begin_ns: int, end_ns: int) -> Translation:
        """Translate times of the host `origin`, one of both, from `begin_ns` to `end_ns`. Raises ClockError if no batch
        was made before or after, or a clock was set or corrected between them."""
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
        """Return a time of the host `origin`, one of both, on the clock of the other, and by how much it may be wrong.

        The time may be later than all batches; the uncertainty grows with the drift.
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
        """Return the batches' times on the clock of a host, and what to add to each."""
        if origin == self.here:
            return self._at, self._offset
        return self._at + self._offset, -self._offset

    def _place(self, knots: Times, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the last knot before the begin and the first one after the end."""
        before = np.flatnonzero((knots[:-1] <= begin_ns) & (begin_ns < knots[1:]))
        after = np.flatnonzero((knots[:-1] < end_ns) & (end_ns <= knots[1:]))
        if not len(before) or not len(after):
            raise ClockError(
                "E-CLOCK-UNKNOWN",
                f"the clocks of {self.here} and {self.there} were not compared before and after the trial",
                "measure the trial again",
            )
        return int(before[0]), int(after[-1]) + 1  # a clock that was set back has two times that read the same

    def _step_error(self, found: Interval) -> ClockError:
        return ClockError(
            "E-CLOCK-STEP",
            f"the clocks of {self.here} and {self.there} moved by {found.deviation_ns / 1000:.3g} us during the trial; "
            f"bounds and drift explain only {found.band_ns / 1000:.3g} us",
            "stop what corrects the clocks during the run, such as NTP, and measure the trial again",
        )


def _reliable(batches: Sequence[Batch]) -> list[Batch]:
    """Return the batches that make the model better, at increasing times; the first and the last one always belong."""
    most = DISTURBED * float(np.median([batch.least.bound_ns for batch in batches]))
    ends = (batches[0], batches[-1])
    kept = [batch for batch in batches if batch in ends or batch.least.bound_ns <= most]
    return [each for before, each in zip([None, *kept], kept, strict=False) if before is None or _later(each, before)]


def _later(one: Batch, other: Batch) -> bool:
    return one.least.at_ns > other.least.at_ns


def _deviation(place: int, changes: NDArray[np.float64], spans: NDArray[np.float64]) -> float:
    """Return by how much an offset changed beyond what the drift of the nearest other intervals explains: the median of
    what each of them leaves unexplained, weighted by their lengths. Without others any drift is possible."""
    near = range(max(0, place - NEIGHBOURS), min(len(spans), place + NEIGHBOURS + 1))
    others = [each for each in near if each != place]
    if not others:
        return max(0.0, abs(float(changes[place])) - MOST_DRIFT * float(spans[place]))
    expected = changes[others] / spans[others] * spans[place]
    left = np.abs(changes[place] - expected)
    order = np.argsort(left)
    reached = np.cumsum(spans[others][order]) >= spans[others].sum() / 2
    return float(left[order][int(np.argmax(reached))])
