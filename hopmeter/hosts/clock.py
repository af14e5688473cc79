"""The clock of a host, as far as `go` needs it: a time of this machine becomes one of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hopmeter.hosts.connection import RoundTrip
from hopmeter.hosts.greeting import Greeting, own_id


class HostClock(Protocol):
    """The relation between CLOCK_MONOTONIC of this machine and that of a host."""

    @property
    def uncertainty_ns(self) -> int:
        """Return by how much `to_host` may be wrong."""

    def to_host(self, ns: int) -> int:
        """Translate a time of this machine to the host's clock."""


class SameClock:
    """The clock of a host that reads the clock of this machine."""

    uncertainty_ns = 0

    def to_host(self, ns: int) -> int:
        """Return the time as it is."""
        return ns


@dataclass(frozen=True)
class ExchangedClock:
    """A clock whose offset comes from the fastest exchange of messages: good enough to start together, and too coarse
    for one-way latencies."""

    round_trip: RoundTrip

    @property
    def uncertainty_ns(self) -> int:
        """Return half of the round trip."""
        return self.round_trip.least_ns // 2

    def to_host(self, ns: int) -> int:
        """Add the offset."""
        return ns + self.round_trip.offset_ns


def clock_of(greeting: Greeting, round_trip: RoundTrip) -> HostClock:
    """Return the clock of the host that sent a greeting."""
    return SameClock() if greeting.clock == own_id("time") else ExchangedClock(round_trip)
