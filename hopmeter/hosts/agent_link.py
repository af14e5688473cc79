"""The ways to an agent: a process whose stdin and stdout reach it, a container, or a connection to one that listens."""

from __future__ import annotations

from pathlib import Path

from hopmeter.hosts.agent_process import AgentProcess
from hopmeter.hosts.agent_socket import AgentSocket
from hopmeter.hosts.container_agent import ContainerAgent
from hopmeter.hosts.hosts_file import HostEntry

AgentLink = AgentProcess | AgentSocket | ContainerAgent


def open_link(name: str, entry: HostEntry, folder: Path) -> AgentLink:
    """Reach the agent of a host; a log of the command goes into a folder. Raises HostError and UsageError."""
    if entry.listens is not None:
        return AgentSocket(name, entry)
    if entry.container is not None:
        return ContainerAgent(name, entry, folder)
    return AgentProcess(name, entry.start, folder / f"{name}.log")
