"""The times of one pair in one trial, by message: when it was due, sent, and received at each endpoint."""

from __future__ import annotations

from dataclasses import dataclass, field

from hopmeter.analysis.latency.arrivals import Arrivals, Times, earliest, latest, preferring
from hopmeter.analysis.latency.host_clocks import ClockUncertainty, HostClocks, translate
from hopmeter.model.cell import Cell


@dataclass(frozen=True)
class EndpointTimes:
    """The times that a relay, sink or server recorded, by message."""

    arrivals: Arrivals
    arrived: Times
    forwarded: Times
    """When the endpoint sent the message on or replied; at a sink with work, when the work was done."""
    decoded: Times | None
    refused: int
    """The number of messages that the endpoint could not send on or reply to."""
    host: str = ""
    """The host that provides the clock of the times."""


@dataclass(frozen=True)
class Lane:
    """The times that a source or client recorded, by message. A scatter client has one lane for each server."""

    due: Times
    sent: Times
    encoded: Times | None
    replies: Arrivals
    """The arrivals of replies; empty at the source of a chain."""
    replied: Times
    decoded: Times | None
    offered: int
    """The number of messages that were offered to the transport."""
    abandoned: int
    """The number of messages that the transport refused until the retry time was over."""
    host: str = ""
    """The host that provides the clock of the times."""

    @property
    def handover_times(self) -> Times:
        """When each message was handed to the transport: after encoding, if there is a codec."""
        return self.sent if self.encoded is None else preferring(self.encoded, self.sent)


@dataclass(frozen=True)
class Pair:
    """A source or client together with all its relays, sinks and servers."""

    cell: Cell
    lanes: list[Lane]
    relays: list[EndpointTimes] = field(default_factory=list)
    ends: list[EndpointTimes] = field(default_factory=list)
    """The sinks or servers; empty in a ring."""
    clocks: HostClocks = field(default_factory=HostClocks)
    """The clocks of the hosts on which the endpoints ran."""

    @property
    def messages(self) -> int:
        """The number of messages that the source recorded."""
        return len(self.lanes[0].due)

    @property
    def one_way(self) -> bool:
        """Whether the messages end at sinks, and do not return to their source."""
        return self.cell.axes.pattern == "pubsub" and not self.cell.axes.is_ring

    @property
    def due_times(self) -> Times:
        """When each message was due."""
        return self.lanes[0].due

    def due_on(self, host: str) -> Times:
        """Return when each message was due, on the clock of `host`."""
        due = self.due_times
        return translate(due, self.clocks.route(due, self.lanes[0].host, host))

    @property
    def send_times(self) -> Times:
        """When each message was sent; for scatter, when its first request was sent."""
        return earliest([lane.sent for lane in self.lanes])

    @property
    def completion_times(self) -> Times:
        """The times at which each message had reached all its receivers and been decoded there, or all its replies had
        returned and been decoded. The clock is that of the source or client, as for all times of a whole message."""
        return self.completion_on(self.lanes[0].host)[0]

    def completion_on(self, host: str) -> tuple[Times, ClockUncertainty]:
        """Return when each message was complete, on the clock of `host`, and the uncertainty of this translation."""
        if self.one_way:
            found = [(_decode_times(end.arrived, end.decoded), end.host) for end in self.ends]
        else:
            found = [(_decode_times(lane.replied, lane.decoded), lane.host) for lane in self.lanes]
        routes = [(times, self.clocks.route(times, origin, host)) for times, origin in found]
        return latest([translate(*each) for each in routes]), ClockUncertainty.of(route for _, route in routes)

    @property
    def delivery_times(self) -> list[Times]:
        """When each message had reached each sink or server, including decoding."""
        return [self._at_origin(end, _decode_times(end.arrived, end.decoded)) for end in self.ends]

    @property
    def arrival_times(self) -> list[Times]:
        """When each message arrived at each sink or server, before decoding."""
        return [self._at_origin(end, end.arrived) for end in self.ends]

    def _at_origin(self, place: EndpointTimes, times: Times) -> Times:
        return translate(times, self.clocks.route(times, place.host, self.lanes[0].host))

    @property
    def deliveries(self) -> list[Arrivals]:
        """The final arrivals: the arrivals at the sinks, or the arrivals of the replies."""
        return [end.arrivals for end in self.ends] if self.one_way else [lane.replies for lane in self.lanes]

    @property
    def expected_count(self) -> int:
        """The number of final arrivals if nothing is lost."""
        return sum(lane.offered for lane in self.lanes) * (len(self.ends) if self.one_way else 1)

    def hops(self) -> list[tuple[Times, Times]]:
        """Return (arrived, left) of each hop, beginning at the source; the last hop has one entry for each sink or
        server. Both times use the clock of the host at which the message arrived."""
        return [(hop.arrived, translate(hop.left, self.clocks.route(hop.left, *hop.hosts))) for hop in self._hops()]

    def _hops(self) -> list[_Hop]:
        first = self.lanes[0]
        lefts = [(first.handover_times, first.host), *((relay.forwarded, relay.host) for relay in self.relays)]
        chain = [
            _Hop(relay.arrived, left, (host, relay.host))
            for relay, (left, host) in zip(self.relays, lefts, strict=False)
        ]
        if self.cell.axes.pattern == "scatter":
            ends = zip(self.ends, self.lanes, strict=True)
            return [_Hop(end.arrived, lane.handover_times, (lane.host, end.host)) for end, lane in ends]
        left, host = lefts[-1]
        if not self.ends:
            return [*chain, _Hop(first.replied, left, (host, first.host))]
        return [*chain, *(_Hop(end.arrived, left, (host, end.host)) for end in self.ends)]

    @property
    def hop_uncertainty(self) -> ClockUncertainty:
        """The largest clock uncertainty of any hop."""
        return ClockUncertainty.of(self.clocks.route(hop.left, *hop.hosts) for hop in self._hops())

    @property
    def one_way_uncertainty(self) -> ClockUncertainty:
        """The largest clock uncertainty of the latency from the source or client to any sink or server."""
        origin = self.lanes[0].host
        return ClockUncertainty.of(self.clocks.route(end.arrived, end.host, origin) for end in self.ends)


@dataclass(frozen=True)
class _Hop:
    arrived: Times
    left: Times
    hosts: tuple[str, str]
    """The host that the message left, and the host at which it arrived."""


def _decode_times(arrived: Times, decoded: Times | None) -> Times:
    return arrived if decoded is None else preferring(decoded, arrived)
