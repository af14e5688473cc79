"""Links to agents. A link connects the coordinator to an agent through a subprocess, a container, a socket or a worker
of a cluster."""

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
"""The number of concurrent connection attempts to listening agents."""


class Link(Protocol):
    """The interface that all kinds of links to an agent have in common."""

    @property
    def channel(self) -> LineChannel:
        """Return the channel over which the coordinator and the agent exchange messages."""

    def why_gone(self) -> str:
        """Return the reason why the channel to the agent was closed, or an empty string if the reason is unknown."""

    def hang_up(self) -> None:
        """Close the channel to the agent, so that the agent exits."""

    def close(self) -> None:
        """Close the channel to the agent, and wait until the agent has exited."""


def open_link(name: str, entry: HostEntry, folder: Path) -> Link:
    """Connect to the agent of a host. If the link starts a command, the log of the command is written to `folder`.
    Raises HostError if the agent cannot be reached, and UsageError if a secret or TLS file is unusable."""
    if entry.listens is not None:
        return AgentSocket(name, entry)
    if entry.container is not None:
        return ContainerAgent(name, entry, folder)
    return AgentProcess(name, entry.start, folder / f"{name}.log")


@contextmanager
def closing_links() -> Iterator[dict[str, Link]]:
    """Yield a dictionary for links. When the `with` block ends, all links in the dictionary are closed concurrently."""
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
    """Connect to the agents of all hosts, and add the links to `links`. Raises a HopmeterError that names all
    unreachable hosts."""
    failures: list[HopmeterError] = []

    def add(name: str) -> None:
        try:
            links[name] = open_link(name, entries[name], folder)
        except HopmeterError as failed:
            failures.append(failed)

    # The kernel kills a subprocess when the thread that started it exits. Therefore, threads open only the slower
    # socket connections, and this thread starts all subprocesses.
    listening = [name for name, each in entries.items() if each.listens is not None]
    with ThreadPoolExecutor(CONNECTING) as pool:
        done = pool.map(add, listening)
        for name in entries:
            if name not in listening:
                add(name)
        list(done)
    if failures:
        raise join_errors(failures)
