"""Translate times of one host to the clock of another host, so that times of one trial can be compared."""

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
    """The possible error of a latency that starts on one clock and ends on another, in nanoseconds."""

    whole_ns: float = 0.0
    """The largest error that all values may have in common."""
    residual_ns: float = 0.0
    """The most by which this error may differ between trials."""

    @classmethod
    def of(cls, routes: Iterable[Route]) -> ClockUncertainty:
        """Return the largest uncertainty of these translations."""
        found = [*routes, HERE]
        return cls(max(each.uncertainty_ns for each in found), max(each.residual_ns for each in found))

    def divide(self, parts: int) -> ClockUncertainty:
        """Return the uncertainty of a latency that is divided by `parts`."""
        return ClockUncertainty(self.whole_ns / parts, self.residual_ns / parts)

    def __or__(self, other: ClockUncertainty) -> ClockUncertainty:
        """Return the maximum of both uncertainties, field by field."""
        return ClockUncertainty(max(self.whole_ns, other.whole_ns), max(self.residual_ns, other.residual_ns))


class HostClocks:
    """The clocks of the hosts of a run; the clock file is read only if times of two hosts are compared."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def route(self, times: Times, origin: str, target: str) -> Route:
        """Return how to translate these times from the host `origin` to the clock of the host `target`.

        Raises ClockError if the clocks were not compared, or if a clock was set meanwhile, and StoreError if the clock
        file is damaged.
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
    """Return the times on the clock of another host; NONE_NS is unchanged."""
    return np.where(times == NONE_NS, NONE_NS, route.apply(times)) if route.steps else times


@lru_cache(maxsize=4)
def _read(folder: Path, _changed_ns: int, _size: int) -> RunClocks:
    return RunClocks(*read_clocks(folder))
