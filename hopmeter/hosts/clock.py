"""The clock of a host, as far as `go` needs it: a time of this machine becomes one of the host."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.hosts.connection import RoundTrip
from hopmeter.hosts.greeting import Greeting, own_id


@dataclass(frozen=True)
class HostClock:
    """CLOCK_MONOTONIC of a host minus that of this machine: good enough to start together, and too coarse for latencies
    in one direction. The defaults are those of a host that reads the same clock."""

    offset_ns: int = 0
    uncertainty_ns: int = 0

    def to_host(self, ns: int) -> int:
        """Translate a time of this machine to the host's clock."""
        return ns + self.offset_ns


def clock_of(greeting: Greeting, round_trip: RoundTrip) -> HostClock:
    """Return the clock of the host that sent a greeting, by the fastest exchange of messages."""
    if greeting.clock == own_id("time"):
        return HostClock()
    return HostClock(round_trip.offset_ns, round_trip.least_ns // 2)
