"""One pair of a trial, message by message: when it was due, sent, and received at each place."""

from __future__ import annotations

from dataclasses import dataclass, field

from hopmeter.analysis.arrivals import Arrivals, Times, earliest, latest, preferring
from hopmeter.model.cell import Cell


@dataclass(frozen=True)
class Place:
    """The records of a relay, sink or server, by message."""

    arrivals: Arrivals
    arrived: Times
    forwarded: Times
    """When it was passed on or answered; at a sink with work, when the work was done."""
    decoded: Times | None
    refused: int
    """Messages that it could not pass on or answer."""


@dataclass(frozen=True)
class Lane:
    """The records of a source or client, by message. A scatter client has a lane for each server."""

    intended: Times
    sent: Times
    encoded: Times | None
    replies: Arrivals
    """The replies; empty at the source of a chain."""
    replied: Times
    decoded: Times | None
    offered: int
    """Messages offered to the transport."""
    abandoned: int
    """Messages that the transport refused until the retry ended."""

    @property
    def handover_times(self) -> Times:
        """When the message was handed over: after encoding, if there is a codec."""
        return self.sent if self.encoded is None else preferring(self.encoded, self.sent)


@dataclass(frozen=True)
class Pair:
    """One source or client with all its relays, sinks and servers."""

    cell: Cell
    lanes: list[Lane]
    relays: list[Place] = field(default_factory=list)
    ends: list[Place] = field(default_factory=list)
    """Sinks or servers; none in a ring."""

    @property
    def messages(self) -> int:
        """Messages recorded at the source."""
        return len(self.lanes[0].intended)

    @property
    def one_way(self) -> bool:
        """Whether it ends at sinks, and not at its source."""
        return self.cell.axes.pattern == "pubsub" and not self.cell.axes.is_ring

    @property
    def intended_times(self) -> Times:
        """When each message was due."""
        return self.lanes[0].intended

    @property
    def send_times(self) -> Times:
        """When each message was sent; in scatter the first of its requests."""
        return earliest([lane.sent for lane in self.lanes])

    @property
    def completion_times(self) -> Times:
        """When each message had reached all its receivers, or all its replies were back; decoded if there is a
        codec."""
        if self.one_way:
            return latest(self.delivery_times)
        return latest([_decode_times(lane.replied, lane.decoded) for lane in self.lanes])

    @property
    def delivery_times(self) -> list[Times]:
        """When each message had reached each sink or server; decoded, if it decodes."""
        return [_decode_times(end.arrived, end.decoded) for end in self.ends]

    @property
    def deliveries(self) -> list[Arrivals]:
        """The deliveries: arrivals at the sinks, or replies."""
        return [end.arrivals for end in self.ends] if self.one_way else [lane.replies for lane in self.lanes]

    @property
    def expected_count(self) -> int:
        """The expected number of deliveries."""
        return sum(lane.offered for lane in self.lanes) * (len(self.ends) if self.one_way else 1)

    def hops(self) -> list[tuple[Times, Times]]:
        """Return (arrived, left) of every hop, from the source on; the last place has one for each sink or server."""
        lefts = [self.lanes[0].handover_times, *(relay.forwarded for relay in self.relays)]
        chain = [(relay.arrived, left) for relay, left in zip(self.relays, lefts, strict=False)]
        if self.cell.axes.pattern == "scatter":
            return [(end.arrived, lane.handover_times) for end, lane in zip(self.ends, self.lanes, strict=True)]
        if not self.ends:
            return [*chain, (self.lanes[0].replied, lefts[-1])]
        return [*chain, *((end.arrived, lefts[-1]) for end in self.ends)]


def _decode_times(arrived: Times, decoded: Times | None) -> Times:
    return arrived if decoded is None else preferring(decoded, arrived)
