"""The clock of a host, as far as `go` needs it: a time of this machine becomes one of the host."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.clocks.pair_model import PairModel
from hopmeter.hosts.coordinator.connection import RoundTrip
from hopmeter.hosts.protocol.greeting import Greeting, own_id


@dataclass(frozen=True)
class HostClock:
    """CLOCK_MONOTONIC of a host minus that of this machine: good enough to start together, and too coarse for latencies
    in one direction. The defaults are those of a host that reads the same clock."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    model: PairModel | None = None
    """With a model, the offset is that of another host, `over`, and the model has both hosts."""
    over: str = ""

    def translate(self, ns: int) -> tuple[int, int]:
        """Return a time of this machine on the host's clock, and by how much it may be wrong."""
        if self.model is None:
            return ns + self.offset_ns, self.uncertainty_ns
        there_ns, doubt_ns = self.model.predict(self.over, ns + self.offset_ns)
        return there_ns, self.uncertainty_ns + round(doubt_ns)

    def beyond(self, model: PairModel, over: str) -> HostClock:
        """Return the clock of a host that was compared with this one, whose name is `over`."""
        return HostClock(self.offset_ns, self.uncertainty_ns, model, over)


def clock_of(greeting: Greeting, round_trip: RoundTrip) -> HostClock:
    """Return the clock of the host that sent a greeting, by the fastest exchange of messages."""
    if greeting.clock == own_id("time"):
        return HostClock()
    return HostClock(round_trip.offset_ns, round_trip.least_ns // 2)
