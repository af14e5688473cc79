"""A node on another host, with the interface of a local node."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.host_clock import HostClock
from hopmeter.hosts.protocol import value_checks
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.node import Node, Start

MOST_WAITING = 10_000
"""The maximum number of unread messages stored for one node."""
TAIL_S = 5.0


class RemoteNode(Node):
    """A node on another host. The host's agent forwards the node's messages."""

    def __init__(self, start: Start, connection: Connection, run: str, clock: HostClock) -> None:
        super().__init__(start)
        self.host = connection.name
        self._connection, self._run, self._clock = connection, run, clock
        self._number = int(start.spec["node"])
        self.endpoints = {int(each["id"]): str(each["role"]) for each in start.spec["endpoints"]}
        self._links = frozenset(start.spec["links"])
        self._waiting: deque[dict[str, Any]] = deque()
        self._failed: TrialFailedError | None = None
        self._ended: dict[str, Any] | None = None

    @property
    def has_news(self) -> bool:  # type: ignore[override]
        """Return whether messages from the node wait to be read, or whether unread lines have arrived from its host."""
        is_unread = self._ended is None and self._connection.channel.has_lines
        return bool(self._waiting or self._failed or is_unread)

    @property
    def sources(self) -> tuple[Any, ...]:
        """Return the channel to the agent, which is shared by all nodes on the host."""
        return (self._connection.channel,)

    @property
    def finished_sources(self) -> tuple[Any, ...]:
        """Return the agent's channel if the node has exited and all its messages were read, otherwise an empty
        tuple."""
        return self.sources if self.has_ended() and not self.has_news else ()

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to the node, with all times translated to the clock of the node's host."""
        if message["say"] == "go":
            message = message | {"start_ns": self._clock.translate(message["start_ns"])[0]}
        if self._ended is None:
            self._connection.tell({"say": "to", "trial": self._run, "node": self._number, "message": message})

    def hear(self, report: Mapping[str, Any]) -> None:
        """Process a report that the agent sent about this node. Raises ValueError for a malformed report."""
        word = report["say"]
        if word == "from" and len(self._waiting) < MOST_WAITING:
            self._waiting.append(value_checks.table(report, "message"))
        elif word == "ended":
            code = report.get("exit_code")
            self._ended = {
                "ending": value_checks.printable(report, "ending", 200),
                "exit_code": None if code is None else value_checks.number(report, "exit_code", 255),
                "tail": value_checks.printable(report, "tail"),
            }
        elif word == "late":
            late_ms = value_checks.number(report, "by_ns") / 1e6
            what = f"the host {self.host} received `go` too late for {self.name}, by {late_ms:.1f} ms"
            remedy = "measure again; if it happens again, the network between the hosts stalls"
            self._failed = TrialFailedError("E-HOST-LATE", what, remedy)
        elif word == "garbage":
            what = f"on {self.host}: {value_checks.printable(report, 'what')}"
            self._failed = TrialFailedError(
                "E-NODE-GARBAGE", what, value_checks.printable(report, "remedy"), crash=True
            )
        else:
            raise ValueError(f"a report about a node says {word[:20]!r}, or too many wait")

    def read_messages(self) -> Iterator[dict[str, Any]]:
        """Yield the node's new messages. Raises TrialFailedError if a message is malformed or the host is lost."""
        if self._ended is None:
            self._connection.hear()
        while self._waiting:
            message = self.check_message(self._waiting.popleft())
            try:
                self._check(message)
            except (ValueError, TypeError, KeyError, AttributeError) as cause:
                raise self.garbage(f"{message['say']}: {cause}".encode()) from cause
            yield message
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed

    def _check(self, message: Mapping[str, Any]) -> None:
        """Raise ValueError if the message is one that this node cannot have sent."""
        word = message["say"]
        if word == "probed":
            for key in ("pair", "probe"):
                value_checks.number(message, key)
            if message["endpoint"] not in self.endpoints:
                raise ValueError("another node has this endpoint")
        elif word == "quiet":
            value_checks.number(message, "pair")
        elif word == "bound":
            if foreign := set(value_checks.texts(message, "links") if message.get("links") else ()) - self._links:
                raise ValueError(f"there is no link {min(foreign)[:40]}")
        elif word == "done":
            self._check_result(message)

    def _check_result(self, done: Mapping[str, Any]) -> None:
        """Raise ValueError if the results do not match the node's endpoints."""
        found = [(each["id"], each["role"]) for each in value_checks.items(done, "endpoints")]
        if sorted(found) != sorted(self.endpoints.items()):
            raise ValueError("its endpoints differ from those of the spec")
        value_checks.table(done, "resources")
        value_checks.table(done, "facts")
        for each in done["endpoints"]:
            for key, value in each.items():
                if key != "role" and not isinstance(value, int | float | bool | None):
                    raise ValueError(f"{key} of an endpoint is not a number")

    def has_ended(self) -> bool:
        """Return whether the node has exited or its host is lost."""
        return self._ended is not None or self._connection.is_gone

    def ending(self) -> str:
        """Return a description of how the node exited."""
        if self._ended is not None:
            return str(self._ended["ending"])
        return "is gone with its host" if self._connection.is_gone else "is still running"

    def exit_code(self) -> int | None:
        """Return the exit code, or None if the node is still running or the exit code is unknown."""
        return self._ended["exit_code"] if self._ended else None

    def tail(self) -> str:
        """Return the last lines of the node's log, joined to one line. Return an empty string if the node has no log or
        the agent does not answer."""
        if self._ended is not None:
            return str(self._ended["tail"])
        try:
            answer = self._connection.ask("tail", TAIL_S, trial=self._run, node=self._number)
            return value_checks.printable(answer, "tail")
        except (TrialFailedError, ValueError):
            return ""

    def close(self) -> None:
        """Do nothing, because the agent stops all nodes of a trial together."""
