"""Pending requests to one or more agents."""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hopmeter.runtime.failures import TrialFailedError

if TYPE_CHECKING:
    from hopmeter.hosts.coordinator.connection import Connection

AT_ONCE = 8
"""The maximum number of pending requests when many requests are sent. Pending answers with samples take up to 4 MiB."""


class Question:
    """A request that an agent has not yet answered."""

    def __init__(self, connection: Connection, number: int, do: str, patience_s: float) -> None:
        self._connection, self._number, self._do = connection, number, do
        self._patience_s, self._deadline = patience_s, time.monotonic() + patience_s
        self.answered_ns = 0
        """The time when the answer was read, on CLOCK_MONOTONIC."""

    def answer(self) -> dict[str, Any]:
        """Wait for the agent's answer to the request, and return the answer. Raises TrialFailedError if the agent
        reports an error or does not answer."""
        while (found := self._connection.take_answer(self._number)) is None:
            if not self._connection.wait(self._deadline - time.monotonic()):
                raise self._connection.lose(f"it did not answer `{self._do}` within {self._patience_s:.0f} s")
        self.answered_ns, value = found
        return value

    def forget(self) -> None:
        """Stop waiting for the answer."""
        self._connection.forget(self._number)


def answers(questions: Iterable[Question]) -> Iterator[dict[str, Any]]:
    """Yield the answers to `questions` in the order of the questions. Each step of the iteration over `questions` sends
    one request, so that at most `AT_ONCE` requests are pending."""
    waiting: deque[Question] = deque()
    try:
        for each in questions:
            waiting.append(each)
            if len(waiting) == AT_ONCE:
                yield waiting.popleft().answer()
        while waiting:
            yield waiting.popleft().answer()
    finally:
        for each in waiting:
            each.forget()


class BusyAgents:
    """The connections to all agents that have not yet answered a request."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._connections: dict[int, Connection] = {}

    def add(self, connection: Connection) -> None:
        """Let `read` also wait for this connection."""
        self._connections[connection.channel.fileno()] = connection
        self._poll.register(connection.channel, select.POLLIN)

    def remove(self, connection: Connection) -> None:
        """Let `read` no longer wait for this connection."""
        if self._connections.pop(connection.channel.fileno(), None):
            self._poll.unregister(connection.channel)

    def read(self, most_s: float) -> bool:
        """Wait for data from the agents, and read the data. Return False if no data arrives within `most_s` seconds. If
        an agent is lost, `read` raises no error, but the next request to this agent fails."""
        ready = self._poll.poll(max(0.0, most_s) * 1000)
        for number, _ in ready:
            with suppress(TrialFailedError):
                self._connections[number].hear()
        return bool(ready)
