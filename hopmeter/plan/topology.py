"""The endpoints and links of a cell, and the endpoints of each node (see docs/internals.md)."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.model.cell import Cell
from hopmeter.plan.expand import language_parts


@dataclass(frozen=True)
class Endpoint:
    """One endpoint: its role, and the links on which it receives and sends."""

    id: int
    role: str
    pair: int
    place: int
    """The position within its pair: the source or client is 0, and server i of a scatter is i + 1."""
    language: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Topology:
    """All endpoints of a cell, and how many receivers each link has."""

    endpoints: tuple[Endpoint, ...]
    links: dict[str, int]

    def nodes(self, placement: str) -> list[tuple[Endpoint, ...]]:
        """Return the endpoints of each process."""
        if placement == "thread":
            return [self.endpoints]
        return [(endpoint,) for endpoint in self.endpoints]

    def provers(self, cell: Cell, pair: int) -> frozenset[int]:
        """Return the endpoints whose reports prove a pair: its sinks, or its source if replies or the ring return to
        it."""
        ours = [each for each in self.endpoints if each.pair == pair]
        sinks = [each.id for each in ours if each.role == "sink"]
        return frozenset(sinks if cell.axes.pattern == "pubsub" and sinks else [ours[0].id])


def topology(cell: Cell) -> Topology:
    """Return the topology of a cell with all its pairs."""
    endpoints: list[Endpoint] = []
    links: dict[str, int] = {}
    for pair in range(cell.axes.pairs):
        roles = _roles(cell)
        first = len(endpoints)
        for place, (role, inputs, outputs) in enumerate(roles):
            language = _language(cell, role)
            named = (tuple(_link(pair, link) for link in inputs), tuple(_link(pair, link) for link in outputs))
            endpoints.append(Endpoint(first + place, role, pair, place, language, *named))
        links |= _links(cell, pair)
    return Topology(tuple(endpoints), links)


def is_chain(cell: Cell) -> bool:
    """Return whether each message passes from one endpoint to the next and does not end at its source."""
    return cell.axes.pattern != "scatter" and not cell.axes.is_ring


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
    """Return the links by id; with `rpc = "duplex"`, a call takes two links."""
    many = cell.axes.sinks if cell.axes.pattern == "scatter" else cell.axes.relays + 1
    ids = [_link(pair, number) for number in range(many)]
    if cell.axes.pattern != "pubsub":
        if cell.carriage.rpc == "duplex":
            return {f"{each}.{way}": 1 for each in ids for way in ("request", "reply")}
        return dict.fromkeys(ids, 1)
    receivers = dict.fromkeys(ids, 1)
    receivers[ids[-1]] = 1 if cell.axes.is_ring else cell.axes.sinks
    return receivers
