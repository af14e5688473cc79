"""The servers of a scatter one by one: how long each takes to answer, and who keeps the others waiting."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.report.grouping import Group
from hopmeter.report.source import Row


@dataclass(frozen=True)
class Server:
    """One of those that a client asks; times in µs."""

    number: int
    p50: float
    p99: float | None
    held: float | None
    last: float | None
    """The share of messages of which its reply was the last; None where they are asked one after the other."""


@dataclass(frozen=True)
class Asked:
    """A row, and the servers it asked."""

    row: Row
    name: str
    servers: tuple[Server, ...]

    @property
    def straggler(self) -> Server | None:
        """Who was last most often; None where they are asked one after the other."""
        known = [each for each in self.servers if each.last is not None]
        return max(known, key=lambda each: each.last or 0.0, default=None)


def asked(group: Group) -> list[Asked]:
    """Rows of a scatter, fastest first; none for another pattern, or where no server's median is resolved."""
    if group.conditions["pattern"] != "scatter":
        return []
    found = [Asked(row, group.label(row), _servers(row)) for row in group.measured]
    return [each for each in found if each.servers]


def _servers(row: Row) -> tuple[Server, ...]:
    p50s = row["servers_roundtrip_p50_us"] or []
    tails, helds, lasts = (
        row[name] or [None] * len(p50s)
        for name in ("servers_roundtrip_p99_us", "servers_held_p50_us", "servers_last_share")
    )
    each = enumerate(zip(p50s, tails, helds, lasts, strict=True), 1)
    return tuple(Server(number, *known) for number, known in each if known[0] is not None)
