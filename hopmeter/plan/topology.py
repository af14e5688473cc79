"""The endpoints and links of a cell, and the endpoints that each of its nodes runs (see docs/internals.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier, Flow
from hopmeter.plan.carriers import axis_carrier, carrier_of, codecs, receiving_carrier, rpc_of
from hopmeter.plan.expand import language_parts
from hopmeter.plan.flows import flows


@dataclass(frozen=True)
class Endpoint:
    """One endpoint: its role, and the links over which it receives and sends."""

    id: int
    role: str
    flow: int
    """The number of the endpoint's flow. In an ordinary cell, each pair is a flow."""
    place: int
    """The position of the endpoint within its flow: the source or client is 0, and server i of a scatter is i + 1."""
    language: str
    participant: int
    """The number of the endpoint's participant, starting at 0. In an ordinary cell, it is the number of the endpoint's
    node."""
    carrier: Carrier
    """The carrier of the endpoint's node. A participant has one node per carrier."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    host: str = ""
    """The name of the host that runs the endpoint, or an empty string if all nodes run on this machine."""


@dataclass(frozen=True)
class Topology:
    """All endpoints of a cell, and the number of receivers of each link."""

    endpoints: tuple[Endpoint, ...]
    links: dict[str, int]

    @cached_property
    def nodes(self) -> list[tuple[Endpoint, ...]]:
        """Return the endpoints of each process, in the order of the participants."""
        found: dict[tuple[int, str], list[Endpoint]] = {}
        for endpoint in self.endpoints:
            found.setdefault((endpoint.participant, endpoint.carrier.key), []).append(endpoint)
        return [tuple(found[key]) for key in sorted(found, key=lambda key: key[0])]

    @cached_property
    def flows(self) -> dict[int, tuple[Endpoint, ...]]:
        """Return the endpoints of each flow, keyed by flow number. The sending endpoint comes first."""
        found: dict[int, list[Endpoint]] = {}
        for endpoint in self.endpoints:
            found.setdefault(endpoint.flow, []).append(endpoint)
        return {number: tuple(ours) for number, ours in found.items()}

    def receivers(self, link: str) -> list[Endpoint]:
        """Return the endpoints that receive messages over a link. Clients are among the receivers of a link, because
        they receive replies over it."""
        is_reply = link.endswith(".reply")
        known = link.removesuffix(".reply").removesuffix(".request")
        return [each for each in self.endpoints if known in (each.outputs if is_reply else each.inputs)]

    def provers(self, flow: int) -> frozenset[int]:
        """Return the ids of the endpoints that can confirm that a flow works: its sinks or, if its messages return, its
        source."""
        ours = self.flows[flow]
        return frozenset([each.id for each in ours if each.role == "sink"] or [ours[0].id])


def topology(cell: Cell) -> Topology:
    """Return the topology of a cell, which contains the endpoints and links of all its flows. If the cell stands for
    the row of one flow, the topology contains only that flow."""
    if cell.workload is not None:
        return _workload_topology(cell)
    endpoints: list[Endpoint] = []
    links: dict[str, int] = {}
    for pair in range(cell.axes.pairs):
        roles = _roles(cell)
        first = len(endpoints)
        for place, (role, inputs, outputs) in enumerate(roles):
            named = (tuple(_link(pair, link) for link in inputs), tuple(_link(pair, link) for link in outputs))
            number = 0 if cell.axes.placement == "thread" else first + place
            own = (_language(cell, role), number, axis_carrier(cell))
            host = cell.host_list[place % len(cell.host_list)] if cell.host_list else ""
            endpoints.append(Endpoint(first + place, role, pair, place, *own, *named, host))
        links |= _links(cell, pair)
    return Topology(tuple(endpoints), links)


def codecs_of_node(cell: Cell, number: int) -> tuple[str, ...]:
    """Return the distinct codecs that a node uses for its objects."""
    if cell.workload is None:
        return (cell.axes.codec,) if cell.has_codec else ()
    end = topology(cell).nodes[number][0]
    return codecs(cell, cell.workload.participants[end.participant].name, end.carrier)


def core_of(cell: Cell, one: Endpoint) -> int | None:
    """Return the core to which an endpoint is pinned, or None if the endpoint is not pinned."""
    cores = cell.nodes.core_list
    if cell.workload is not None:
        cores = cell.workload.participants[one.participant].core_list or cores
    return cores[one.id % len(cores)] if cores else None


def is_chain(cell: Cell) -> bool:
    """Return whether messages pass from endpoint to endpoint without returning to their source.

    A workload is not a chain, because a message may have many effects.
    """
    return cell.workload is None and cell.axes.pattern != "scatter" and not cell.axes.is_ring


Role = tuple[str, list[int], list[int]]


def _roles(cell: Cell) -> list[Role]:
    if cell.axes.pattern == "scatter":
        servers: list[Role] = [("server", [link], []) for link in range(cell.axes.sinks)]
        return [("client", [], list(range(cell.axes.sinks))), *servers]
    relays: list[Role] = [("relay", [link], [link + 1]) for link in range(cell.axes.relays)]
    if cell.axes.pattern == "rpc":
        return [("client", [], [0]), *relays, ("server", [cell.axes.relays], [])]
    if cell.axes.is_ring:
        return [("source", [cell.axes.relays], [0]), *relays]
    return [("source", [], [0]), *relays, *[("sink", [cell.axes.relays], []) for _ in range(cell.axes.sinks)]]


def _language(cell: Cell, role: str) -> str:
    source, relay, sink = language_parts(cell.axes.language, cell.axes.relays)
    return {"source": source, "client": source, "relay": relay}.get(role, sink)


def _link(pair: int, number: int) -> str:
    return f"l{number}" if pair == 0 else f"f{pair}.l{number}"


def _links(cell: Cell, pair: int) -> dict[str, int]:
    """Return how many receivers each link of a pair has, keyed by link id. If `rpc` is "duplex", a call uses two links,
    one for the request and one for the reply."""
    many = cell.axes.sinks if cell.axes.pattern == "scatter" else cell.axes.relays + 1
    ids = [_link(pair, number) for number in range(many)]
    if cell.axes.pattern != "pubsub":
        return call_links(ids, cell.carriage.rpc)
    receivers = dict.fromkeys(ids, 1)
    receivers[ids[-1]] = 1 if cell.axes.is_ring else cell.axes.sinks
    return receivers


def call_links(ids: Iterable[str], rpc: str) -> dict[str, int]:
    """Return the links over which calls are made. Each link has one receiver. If `rpc` is "duplex", each call has two
    links, otherwise one link."""
    if rpc == "duplex":
        return {f"{each}.{way}": 1 for each in ids for way in ("request", "reply")}
    return dict.fromkeys(ids, 1)


def _workload_topology(cell: Cell) -> Topology:
    """Return the endpoints and links of the flows that run in a cell, with the same ids as in the whole workload."""
    assert cell.workload is not None, "an ordinary cell has its own topology"
    names = {flow.name for flow in flows(cell)}
    endpoints: list[Endpoint] = []
    links: dict[str, int] = {}
    first = 0
    for flow in (*cell.workload.flows, *cell.workload.bridges):
        ends = _flow_ends(cell, flow, first)
        first += len(ends)
        if flow.name in names:
            endpoints += ends
            links |= _flow_links(flow, rpc_of(cell, flow))
    return Topology(tuple(endpoints), links)


def _flow_ends(cell: Cell, flow: Flow, first: int) -> list[Endpoint]:
    """Return the endpoints of a flow: first the sender, then one endpoint per target."""
    assert cell.workload is not None, "an ordinary cell has its own endpoints"
    programs, ids = cell.workload.participants, _flow_link_ids(flow)
    numbers = {each.name: number for number, each in enumerate(programs)}

    def end(
        place: int, name: str, role: str, carrier: Carrier, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> Endpoint:
        number = numbers[name]
        own = (programs[number].language, number, carrier)
        return Endpoint(first + place, role, flow.number, place, *own, inputs, outputs, programs[number].host)

    sender = "follower" if flow.after or flow.during else "client" if flow.is_call else "source"
    receiver, other = "server" if flow.is_call else "sink", receiving_carrier(cell, flow)
    ends = [end(0, flow.source, sender, carrier_of(cell, flow), (), ids)]
    for place, target in enumerate(flow.targets):
        inputs = (ids[place],) if flow.pattern == "scatter" else ids
        ends.append(end(place + 1, target, receiver, other, inputs, ()))
    return ends


def _flow_link_ids(flow: Flow) -> tuple[str, ...]:
    """Return the ids of a flow's links: one link per server of a scatter, one per concurrent call, or one for all
    messages."""
    many = len(flow.targets) if flow.pattern == "scatter" else flow.concurrency
    return tuple(_link(flow.number, place) for place in range(many))


def _flow_links(flow: Flow, rpc: str) -> dict[str, int]:
    ids = _flow_link_ids(flow)
    return call_links(ids, rpc) if flow.is_call else {ids[0]: len(flow.targets)}
