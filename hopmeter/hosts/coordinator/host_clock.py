"""Translates times of this machine to the clock of another host, precisely enough to start nodes on both at the same
time."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.clocks.pair_model import PairModel
from hopmeter.hosts.coordinator.connection import RoundTrip
from hopmeter.hosts.protocol.greeting import Greeting, own_id


@dataclass(frozen=True)
class HostClock:
    """A host's CLOCK_MONOTONIC minus the CLOCK_MONOTONIC of this machine. The clock offset is precise enough to start
    nodes together, but too coarse for one-way latencies. The default values describe a host that uses the same clock as
    this machine."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    model: PairModel | None = None
    """If `model` is given, `offset_ns` is the offset of the intermediate host `over`, and the model relates the clocks
    of both hosts."""
    over: str = ""

    def translate(self, ns: int) -> tuple[int, int]:
        """Return a time of this machine translated to the host's clock, and the uncertainty of the translation, both in
        nanoseconds."""
        if self.model is None:
            return ns + self.offset_ns, self.uncertainty_ns
        there_ns, doubt_ns = self.model.predict(self.over, ns + self.offset_ns)
        return there_ns, self.uncertainty_ns + round(doubt_ns)

    def beyond(self, model: PairModel, over: str) -> HostClock:
        """Return the clock of a further host, whose clock was compared with the clock of this host. `over` is the name
        of this host."""
        return HostClock(self.offset_ns, self.uncertainty_ns, model, over)


def clock_of(greeting: Greeting, round_trip: RoundTrip) -> HostClock:
    """Return the clock of the host that sent the greeting, computed from the fastest round trip to that host."""
    if greeting.clock == own_id("time"):
        return HostClock()
    return HostClock(round_trip.offset_ns, round_trip.least_ns // 2)
