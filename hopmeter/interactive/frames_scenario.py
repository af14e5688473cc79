"""The scenario of `hopmeter ask`: a client sends each frame to servers on other hosts, and waits for all replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.model import units
from hopmeter.model.conditions import LEAST_HZ
from hopmeter.scenario import Scenario
from hopmeter.system.toml_files import validate

HERE = "this-machine"
"""The name of the clients' host. No server can have the same name."""
CLIENT = "ask-client"
PATIENCE_S = 5.0
"""How long, in seconds, a client waits for a reply beyond the expected work."""
SPARE_S = 1.0
"""The time in seconds that is allowed for each frame beyond its work. The trial's time limit includes this time."""
BYTES_PER_S = 100e6
"""The assumed transfer rate of frames, used to compute the interval between scheduled frames."""
COMMON: dict[str, Any] = {
    "title": "Servers",
    "question": "How long do servers take to send a frame back?",
    "wait": "block",
    "cores": "free",
    "reply": "echo",
    "checksum": True,
    "trials": 1,
    "timeout": "60s",
}


@dataclass(frozen=True)
class Server:
    """A server started with `hopmeter serve`. The server's name is also the name of its host."""

    name: str
    transport: str
    work: str
    broker: str = ""
    """The address of the server's broker, or an empty string if the trial starts a broker."""


@dataclass(frozen=True)
class Frames:
    """The options of `hopmeter ask`: which frames to send, and how to send them."""

    payload: str
    """`image:640x480`, or a file that provides the frames."""
    frames: int = 25
    threads: int = 1
    coef: float = 1.0
    sequential: bool = False
    language: str = "python"

    def works(self, servers: Sequence[Server]) -> list[str]:
        """Return the work of each server, multiplied by `coef`. Raises UsageError if the work of a server cannot be
        multiplied."""
        return [multiply_work(each, self.coef) for each in servers]

    def works_ns(self, servers: Sequence[Server]) -> list[float] | None:
        """Return how many nanoseconds each server works on a frame, or None if any work is `copy`, whose duration is
        unknown."""
        works = [units.work(each) for each in self.works(servers)]
        return None if any(each["kind"] == "copy" for each in works) else [float(each.get("ns", 0)) for each in works]

    def ideal_ns(self, servers: Sequence[Server]) -> float | None:
        """Return the time that a frame takes without any overhead, or None if the duration of the servers' work is
        unknown."""
        works_ns = self.works_ns(servers)
        return None if works_ns is None else sum(works_ns) if self.sequential else max(works_ns)

    def longest_s(self, servers: Sequence[Server]) -> float:
        """Return the longest time that the servers' work on a frame can take. The work takes longest when all threads
        and servers share one core."""
        return sum(self.works_ns(servers) or [0.0]) / 1e9 * self.threads

    def limit_s(self, servers: Sequence[Server]) -> float:
        """Return the time after which the client sends no more frames."""
        each_s = self.longest_s(servers) + SPARE_S
        return min(units.MOST_S, units.seconds("30s") + (self.frames + 1) * each_s)


def multiply_work(server: Server, coef: float) -> str:
    """Multiply the work of a server, a duration or a number of bytes to copy, by a factor, and return the result.
    Raises UsageError if the server copies the whole frame, because that work has neither a time nor a size."""
    kind, _, amount = server.work.partition(":")
    if kind == "none" or coef == 1:
        return server.work
    if kind != "copy":
        return f"{kind}:{round(units.nanoseconds(amount) * coef)}ns"
    size, *how = amount.split(":")
    if not size.isdecimal():
        what = f"--coef multiplies a time or a number of bytes, but the server {server.name} copies the whole frame"
        raise UsageError("E-OPTION-CONFLICT", what, "omit --coef, or start the server with --work copy:BYTES")
    return ":".join(["copy", str(round(int(size) * coef)), *how])


def check_work(text: str) -> str:
    """Return the text if it is a valid work specification for one server. Raises UsageError for an invalid work
    specification."""
    try:
        units.work(text)
    except RefusedValueError as wrong:
        raise UsageError(wrong.code, f"--work: {wrong.what}") from wrong
    return text


def make_scenario(asked: Frames, servers: Sequence[Server]) -> Scenario:
    """Return the scenario in which a client calls the given servers. The first host of the scenario is the client's
    host. Raises UsageError if an option cannot be combined with several transports."""
    by_transport = list(dict.fromkeys(each.transport for each in servers))
    if len(by_transport) == 1:
        return validate(Scenario, _one_client(asked, servers), "ask")
    for option, is_given in (("--sequential", asked.sequential), ("--n-thread", asked.threads > 1)):
        if is_given:
            what = f"{option} needs a single transport, but these servers use {' and '.join(by_transport)}"
            remedy = "run `hopmeter ask` separately for the servers of each transport"
            raise UsageError("E-SERVERS-DIFFER", what, remedy)
    return validate(Scenario, _several_clients(asked, servers), "ask")


def _one_client(asked: Frames, servers: Sequence[Server]) -> dict[str, Any]:
    """Return the scenario table for servers that all use one transport. Each thread gets its own pair of a client on
    this machine and a server process on each server's host."""
    return COMMON | {
        "transport": servers[0].transport,
        "language": asked.language,
        "pattern": "scatter" if len(servers) > 1 else "rpc",
        "placement": "process",
        "payload": asked.payload,
        "pace": "closed",
        "sinks": len(servers),
        "pairs": asked.threads,
        "work": "/".join(asked.works(servers)),
        "dispatch": "sequential" if asked.sequential else "parallel",
        "messages": asked.frames,
        "warmup": 1,
        "patience": f"{PATIENCE_S + asked.longest_s(servers):.3f}s",
    }


def _several_clients(asked: Frames, servers: Sequence[Server]) -> dict[str, Any]:
    """Return the scenario table for servers that use several transports, with one client for each transport. All
    clients send their frames at the same due times."""
    works = dict(zip(servers, asked.works(servers), strict=True))
    period_s = frame_period_s(asked, servers)
    participants = {each.name: {"host": each.name} for each in servers}
    flows: dict[str, Any] = {}
    for transport, ours in servers_by_transport(servers).items():
        flows[transport] = {
            "from": CLIENT,
            "call": [each.name for each in ours],
            "payload": asked.payload,
            "rate": 1 / period_s,
            "work": "/".join(works[each] for each in ours),
            "transport": transport,
        }
    return COMMON | {
        "language": asked.language,
        "duration": f"{asked.frames * period_s:.9f}s",
        "patience": f"{PATIENCE_S + asked.longest_s(servers):.3f}s",
        "participant": {CLIENT: {"host": HERE}} | participants,
        "flow": flows,
    }


def brokers(servers: Sequence[Server]) -> dict[str, str]:
    """Return the addresses of brokers that are already running, keyed by transport. Raises UsageError if servers with
    the same transport use different brokers."""
    found: dict[str, str] = {}
    for each in servers:
        if found.setdefault(each.transport, each.broker) != each.broker:
            what = f"the servers over {each.transport} use different brokers"
            raise UsageError(
                "E-SERVERS-DIFFER", what, "start all these servers with the same --broker, or all without --broker"
            )
    return {transport: broker for transport, broker in found.items() if broker}


def servers_by_transport(servers: Sequence[Server]) -> dict[str, list[Server]]:
    """Return the servers that use each transport. One client calls all servers of its transport."""
    return {
        one: [each for each in servers if each.transport == one] for one in dict.fromkeys(s.transport for s in servers)
    }


def frame_period_s(asked: Frames, servers: Sequence[Server]) -> float:
    """Return the interval between frames, which is needed if there are several client processes. The interval is long
    enough to transfer the frame to all servers and back, plus 1.25 times the work."""
    carried_s = 2 * len(servers) * units.payload_bytes(asked.payload) / BYTES_PER_S
    return min(1 / LEAST_HZ, 1.25 * (asked.ideal_ns(servers) or 0.0) / 1e9 + carried_s + 0.01)
