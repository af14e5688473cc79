"""The links to an agent: a process that connects its stdin and stdout, a container, a connection to a listening
agent, or a cluster worker."""

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
"""To how many listening agents the coordinator connects at once."""


class Link(Protocol):
    """A connection to an agent, whatever carries it."""

    @property
    def channel(self) -> LineChannel:
        """Return the channel to the agent."""

    def why_gone(self) -> str:
        """Return in plain words why the channel was closed, or an empty string if the link knows no reason."""

    def hang_up(self) -> None:
        """Close the channel, so that the agent ends."""

    def close(self) -> None:
        """Close the channel and wait until the agent has ended."""


def open_link(name: str, entry: HostEntry, folder: Path) -> Link:
    """Connect to the agent of a host; a command writes its log into `folder`. Raises HostError and UsageError."""
    if entry.listens is not None:
        return AgentSocket(name, entry)
    if entry.container is not None:
        return ContainerAgent(name, entry, folder)
    return AgentProcess(name, entry.start, folder / f"{name}.log")


@contextmanager
def closing_links() -> Iterator[dict[str, Link]]:
    """Provide a dict for links; when the `with` block ends, all links in it close concurrently."""
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
    """Connect to the agents of all hosts, and add the links to `links`. Raises HopmeterError, which names every host
    that cannot be reached."""
    failures: list[HopmeterError] = []

    def add(name: str) -> None:
        try:
            links[name] = open_link(name, entries[name], folder)
        except HopmeterError as failed:
            failures.append(failed)

    # The kernel kills a process when the thread that started it ends, so only connections, which may take seconds, use
    # threads.
    listening = [name for name, each in entries.items() if each.listens is not None]
    with ThreadPoolExecutor(CONNECTING) as pool:
        done = pool.map(add, listening)
        for name in entries:
            if name not in listening:
                add(name)
        list(done)
    if failures:
        raise join_errors(failures)
