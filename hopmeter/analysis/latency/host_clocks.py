"""Translate times from one host's clock to another's, so that the times of a trial are comparable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from hopmeter.analysis.latency.arrivals import Times
from hopmeter.clocks.run_clocks import HERE, Route, RunClocks
from hopmeter.store.clock_file import FILE, read_clocks
from hopmeter.store.samples import NONE_NS


@dataclass(frozen=True)
class ClockUncertainty:
    """The possible error, in nanoseconds, of a latency that starts on one clock and ends on another."""

    whole_ns: float = 0.0
    """The largest clock error that all trials of a run may share."""
    residual_ns: float = 0.0
    """The largest difference between the clock errors of two trials."""

    @classmethod
    def of(cls, routes: Iterable[Route]) -> ClockUncertainty:
        """Return the largest uncertainty of the given clock translations."""
        found = [*routes, HERE]
        return cls(max(each.uncertainty_ns for each in found), max(each.residual_ns for each in found))

    def divide(self, parts: int) -> ClockUncertainty:
        """Return the uncertainty of a latency after it is divided by `parts`, as is a round trip by its number of
        hops."""
        return ClockUncertainty(self.whole_ns / parts, self.residual_ns / parts)

    def __or__(self, other: ClockUncertainty) -> ClockUncertainty:
        """Return the larger of the two uncertainties, field by field."""
        return ClockUncertainty(max(self.whole_ns, other.whole_ns), max(self.residual_ns, other.residual_ns))


class HostClocks:
    """The clocks of the hosts of a run. The clock file is read only when times of two hosts are compared."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def route(self, times: Times, origin: str, target: str) -> Route:
        """Return the conversion of the given times from the clock of `origin` to the clock of `target`.

        Raises ClockError if the clocks were not compared, or if a clock was set during the time that `times` cover.
        Raises StoreError if the clock file is damaged.
        """
        known = times[times != NONE_NS]
        if origin == target or not len(known):
            return HERE
        return self._clocks().route(origin, target, int(known.min()), int(known.max()) + 1)

    def _clocks(self) -> RunClocks:
        path = self._folder / FILE if self._folder else None
        if self._folder is None or path is None or not path.exists():
            return RunClocks([])
        stat = path.stat()
        return _read(self._folder, stat.st_mtime_ns, stat.st_size)


def translate(times: Times, route: Route) -> Times:
    """Return the given times, converted to the clock of another host. Missing times (NONE_NS) stay unchanged."""
    return np.where(times == NONE_NS, NONE_NS, route.apply(times)) if route.steps else times


@lru_cache(maxsize=4)
def _read(folder: Path, _changed_ns: int, _size: int) -> RunClocks:
    return RunClocks(*read_clocks(folder))
