"""The broker and the background load on another host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from hopmeter.hosts.coordinator.connection import Connection, naming_damage
from hopmeter.hosts.coordinator.questions import Question
from hopmeter.hosts.protocol import value_checks
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.background_load import Achieved

Method = TypeVar("Method", bound=Callable[..., Any])


def names_damage(method: Method) -> Method:
    """Wrap a method so that a malformed agent answer raises TrialFailedError with the host's name."""

    @functools.wraps(method)
    def call(self: Any, *given: Any, **more: Any) -> Any:
        with naming_damage(self.host_name):
            return method(self, *given, **more)

    return cast("Method", call)


class RemoteBackground:
    """The background load of a host. The agent begins to measure the background load when the trial begins."""

    def __init__(self, connection: Connection, start: Question) -> None:
        self._connection, self._start, self.host_name = connection, start, connection.name

    def await_start(self) -> None:
        """Wait until the background load is running. Raises TrialFailedError if the load does not start."""
        self._start.answer()

    def begin(self) -> None:
        """Do nothing, because the agent measures the background load on its own."""

    @names_damage
    def reading(self) -> Achieved:
        """Return the CPU load and memory traffic that the background load actually achieved."""
        found = self._connection.ask("read-background")
        values = [
            None if found.get(key) is None else value_checks.decimal(found, key)
            for key in ("cpu_percent", "memory_gb_s")
        ]
        return Achieved(*values)

    def close(self) -> None:
        """End the background load. If the agent is lost, the background load has already ended."""
        with suppress(TrialFailedError):
            self._connection.ask("end-background")


class RemoteBroker:
    """A broker on another host."""

    def __init__(self, connection: Connection, address: str, environment: dict[str, str]) -> None:
        self.address, self.environment = address, environment
        self.exit_watch = connection.channel
        self._connection = connection
        self.failed: TrialFailedError | None = None

    def check(self) -> None:
        """Raise TrialFailedError if the broker has failed or its host is lost."""
        self._connection.hear()
        if self.failed is not None:
            raise self.failed
