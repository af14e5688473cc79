"""The ways to an agent: a process whose stdin and stdout reach it, a container, a connection to one that listens, or a
worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from hopmeter.errors import HopmeterError
from hopmeter.hosts.coordinator.agent_socket import AgentSocket
from hopmeter.hosts.coordinator.container_agent import ContainerAgent
from hopmeter.hosts.coordinator.hosts_file import HostEntry
from hopmeter.hosts.protocol.agent_process import AgentProcess
from hopmeter.hosts.protocol.greeting import join_errors
from hopmeter.hosts.protocol.line_channel import LineChannel

CONNECTING = 32
"""How many agents that listen are connected at once."""


class Link(Protocol):
    """What reaches an agent."""

    @property
    def channel(self) -> LineChannel:
        """Return the channel to the agent."""

    def why_gone(self) -> str:
        """Explain why the channel is closed; empty if it is not."""

    def hang_up(self) -> None:
        """Close the channel, so that the agent ends."""

    def close(self) -> None:
        """Close the channel and wait until the agent has ended."""


def open_link(name: str, entry: HostEntry, folder: Path) -> Link:
    """Reach the agent of a host; a log of the command goes into a folder. Raises HostError and UsageError."""
    if entry.listens is not None:
        return AgentSocket(name, entry)
    if entry.container is not None:
        return ContainerAgent(name, entry, folder)
    return AgentProcess(name, entry.start, folder / f"{name}.log")


@contextmanager
def closing_links() -> Iterator[dict[str, Link]]:
    """Provide a place for links; they all close at once when the `with` block ends."""
    links: dict[str, Link] = {}
    try:
        yield links
    finally:
        with ExitStack() as ends:
            for each in links.values():
                ends.callback(each.close)
            for each in links.values():
                each.hang_up()


def open_links(entries: Mapping[str, HostEntry], links: dict[str, Link], folder: Path) -> None:
    """Reach the agents of all hosts at once, and add them to `links`. Raises HopmeterError, which names every host that
    cannot be reached."""
    failures: list[HopmeterError] = []

    def add(name: str) -> None:
        try:
            links[name] = open_link(name, entries[name], folder)
        except HopmeterError as failed:
            failures.append(failed)

    # A process ends with the thread that has started it; a connection may take seconds.
    listening = [name for name, each in entries.items() if each.listens is not None]
    with ThreadPoolExecutor(CONNECTING) as pool:
        done = pool.map(add, listening)
        for name in entries:
            if name not in listening:
                add(name)
        list(done)
    if failures:
        raise join_errors(failures)
