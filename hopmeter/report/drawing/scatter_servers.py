"""The reply time of each server of a scatter, and the server that most often replies last."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row


@dataclass(frozen=True)
class ServerTimes:
    """The times of one server of a scatter, in µs."""

    number: int
    p50: float
    p99: float | None
    held: float | None
    last: float | None
    """The share of messages for which this server replied last, or None if servers are called one after another."""


@dataclass(frozen=True)
class ScatterRow:
    """A result row of a scatter, with the times of its servers."""

    row: Row
    name: str
    servers: tuple[ServerTimes, ...]

    @property
    def straggler(self) -> ServerTimes | None:
        """The server that most often replied last, or None if the client called one server after another."""
        known = [each for each in self.servers if each.last is not None]
        return max(known, key=lambda each: each.last or 0.0, default=None)


def scatter_rows(group: Group) -> list[ScatterRow]:
    """Return the scatter rows in which at least one server has a median. Return an empty list if the pattern is not
    scatter."""
    if group.conditions["pattern"] != "scatter":
        return []
    found = [ScatterRow(row, group.label(row), _servers(row)) for row in group.measured_rows]
    return [each for each in found if each.servers]


def _servers(row: Row) -> tuple[ServerTimes, ...]:
    p50s = row["servers_roundtrip_p50_us"] or []
    tails, helds, lasts = (
        row[name] or [None] * len(p50s)
        for name in ("servers_roundtrip_p99_us", "servers_held_p50_us", "servers_last_share")
    )
    each = enumerate(zip(p50s, tails, helds, lasts, strict=True), 1)
    return tuple(ServerTimes(number, p50, *others) for number, (p50, *others) in each if p50 is not None)
