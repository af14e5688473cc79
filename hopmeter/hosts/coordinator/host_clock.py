"""The clock of a host, as far as `go` needs it: translates times of this machine to times of the host."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.clocks.pair_model import PairModel
from hopmeter.hosts.coordinator.connection import RoundTrip
from hopmeter.hosts.protocol.greeting import Greeting, own_id


@dataclass(frozen=True)
class HostClock:
    """A host's CLOCK_MONOTONIC minus that of this machine: precise enough to start nodes together, too coarse for
    one-way latencies. The defaults are those of a host that reads the same clock."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    model: PairModel | None = None
    """If there is a model, `offset_ns` is the offset of another host, `over`, and the model relates both hosts."""
    over: str = ""

    def translate(self, ns: int) -> tuple[int, int]:
        """Return a time of this machine on the host's clock, and its uncertainty, both in nanoseconds."""
        if self.model is None:
            return ns + self.offset_ns, self.uncertainty_ns
        there_ns, doubt_ns = self.model.predict(self.over, ns + self.offset_ns)
        return there_ns, self.uncertainty_ns + round(doubt_ns)

    def beyond(self, model: PairModel, over: str) -> HostClock:
        """Return the clock of a host that was compared with this host, which has the name `over`."""
        return HostClock(self.offset_ns, self.uncertainty_ns, model, over)


def clock_of(greeting: Greeting, round_trip: RoundTrip) -> HostClock:
    """Return the clock of the host that sent the greeting, from the fastest exchange of messages."""
    if greeting.clock == own_id("time"):
        return HostClock()
    return HostClock(round_trip.offset_ns, round_trip.least_ns // 2)
