"""The due, send and arrival times of each message of one pair in one trial."""

from __future__ import annotations

from dataclasses import dataclass, field

from hopmeter.analysis.latency.arrivals import Arrivals, Times, earliest, latest, preferring
from hopmeter.analysis.latency.host_clocks import ClockUncertainty, HostClocks, translate
from hopmeter.model.cell import Cell


@dataclass(frozen=True)
class EndpointTimes:
    """The times that a relay, sink or server recorded for each message."""

    arrivals: Arrivals
    arrived: Times
    forwarded: Times
    """The time at which the endpoint forwarded the message or replied. For a sink with work, the time at which the work
    was done."""
    decoded: Times | None
    refused: int
    """The number of messages that the endpoint could not forward or answer."""
    host: str = ""
    """The name of the host that recorded the times."""


@dataclass(frozen=True)
class Lane:
    """The times that a source or client recorded for each message. A scatter client has one lane per server."""

    due: Times
    sent: Times
    encoded: Times | None
    replies: Arrivals
    """The arrivals of replies. The source of a chain has no replies."""
    replied: Times
    decoded: Times | None
    offered: int
    """The number of messages that were offered to the transport."""
    abandoned: int
    """The number of messages that the transport refused until the retry time was over."""
    host: str = ""
    """The name of the host that recorded the times."""

    @property
    def handover_times(self) -> Times:
        """The time at which each message was passed to the transport. If a codec encodes the message, the message is
        passed to the transport after encoding."""
        return self.sent if self.encoded is None else preferring(self.encoded, self.sent)


@dataclass(frozen=True)
class Pair:
    """A source or client with all its relays, sinks and servers."""

    cell: Cell
    lanes: list[Lane]
    relays: list[EndpointTimes] = field(default_factory=list)
    ends: list[EndpointTimes] = field(default_factory=list)
    """The sinks or servers of the pair. A ring has neither sinks nor servers."""
    clocks: HostClocks = field(default_factory=HostClocks)
    """The clocks of the hosts on which the endpoints ran."""

    @property
    def messages(self) -> int:
        """The number of messages that the source recorded."""
        return len(self.lanes[0].due)

    @property
    def one_way(self) -> bool:
        """Whether the messages end at sinks instead of returning to their source."""
        return self.cell.axes.pattern == "pubsub" and not self.cell.axes.is_ring

    @property
    def due_times(self) -> Times:
        """The time at which each message was due."""
        return self.lanes[0].due

    def due_on(self, host: str) -> Times:
        """Return the time at which each message was due, on the clock of `host`."""
        due = self.due_times
        return translate(due, self.clocks.route(due, self.lanes[0].host, host))

    @property
    def send_times(self) -> Times:
        """The time at which each message was sent. For the scatter pattern, the time at which the first request was
        sent."""
        return earliest([lane.sent for lane in self.lanes])

    @property
    def completion_times(self) -> Times:
        """The time at which each message, or the last of its replies, was received and decoded. The time is on the
        clock of the source or client."""
        return self.completion_on(self.lanes[0].host)[0]

    def completion_on(self, host: str) -> tuple[Times, ClockUncertainty]:
        """Return the completion time of each message on the clock of `host`, and the uncertainty of the translation to
        this clock."""
        if self.one_way:
            found = [(_decode_times(end.arrived, end.decoded), end.host) for end in self.ends]
        else:
            found = [(_decode_times(lane.replied, lane.decoded), lane.host) for lane in self.lanes]
        routes = [(times, self.clocks.route(times, origin, host)) for times, origin in found]
        return latest([translate(*each) for each in routes]), ClockUncertainty.of(route for _, route in routes)

    @property
    def delivery_times(self) -> list[Times]:
        """The time at which each sink or server had received and decoded each message."""
        return [self._at_origin(end, _decode_times(end.arrived, end.decoded)) for end in self.ends]

    @property
    def arrival_times(self) -> list[Times]:
        """The time at which each message arrived at each sink or server, before decoding."""
        return [self._at_origin(end, end.arrived) for end in self.ends]

    def _at_origin(self, place: EndpointTimes, times: Times) -> Times:
        return translate(times, self.clocks.route(times, place.host, self.lanes[0].host))

    @property
    def deliveries(self) -> list[Arrivals]:
        """The final arrivals: the arrivals at the sinks, or the arrivals of the replies."""
        return [end.arrivals for end in self.ends] if self.one_way else [lane.replies for lane in self.lanes]

    @property
    def expected_count(self) -> int:
        """The number of arrivals at sinks, or of arriving replies, if no message is lost."""
        return sum(lane.offered for lane in self.lanes) * (len(self.ends) if self.one_way else 1)

    def hops(self) -> list[tuple[Times, Times]]:
        """Return the arrival and departure times of each hop, starting at the source. The last hop has one entry per
        sink or server.

        Arrival and departure times are on the clock of the receiving host.
        """
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
    """The host that sent the message and the host that received it."""


def _decode_times(arrived: Times, decoded: Times | None) -> Times:
    return arrived if decoded is None else preferring(decoded, arrived)
