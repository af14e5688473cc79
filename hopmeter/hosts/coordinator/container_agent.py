"""An agent in a container on this machine. Docker or Podman starts the container, which is removed when the command
ends."""

from __future__ import annotations

import ipaddress
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hopmeter.hosts.coordinator.hosts_file import HostEntry
from hopmeter.hosts.protocol.agent_process import AgentProcess
from hopmeter.hosts.protocol.greeting import HostError

ENGINES = ("docker", "podman")
ENGINE_S = 30.0
"""The timeout for inspecting or removing a container."""
ADDRESSES = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"


def find_engine(name: str, wanted: str | None) -> str:
    """Return the container engine, Docker or Podman, of a host. Raises HostError if the engine is not installed."""
    found = next((each for each in ([wanted] if wanted else ENGINES) if shutil.which(each)), None)
    if found is None:
        what = f"{wanted} is not installed" if wanted else f"neither {' nor '.join(ENGINES)} is installed"
        remedy = "install docker or podman, and try `docker run hello-world`"
        raise HostError("E-CONTAINER-ENGINE", f"the host {name} is a container, and {what}", remedy)
    return found


def run_command(engine: str, container: str, entry: HostEntry, shared: Path) -> list[str]:
    """Return the command that starts an agent in a container. All containers that share memory mount the same host
    directory, `shared`."""
    memory = ["--ipc", "private"]
    if entry.shared_memory:
        # Programs that share memory must also be able to see each other's process ids.
        folder = ["--volume", f"{shared}:{shared}", "--env", f"XDG_RUNTIME_DIR={shared}"]
        memory = ["--ipc", "host", "--pid", "host", *folder]
    network = ["--network", entry.network or "bridge"]
    words = [
        engine,
        "run",
        "--rm",
        "--interactive",
        "--pull",
        "never",
        "--name",
        container,
        *network,
        *memory,
        *entry.options,
    ]
    return [*words, str(entry.container), *entry.command, "agent", "--stdio"]


class ContainerAgent(AgentProcess):
    """A running container that provides the channel to an agent on stdin and stdout."""

    is_killed_with_launcher = False
    """If `podman run` is killed, its container keeps running. Closing the container's stdin stops the container."""

    def __init__(self, name: str, entry: HostEntry, folder: Path) -> None:
        """Start the container. The directory `folder` contains the container's log and the directory for shared memory.
        Raises HostError if no container engine is installed."""
        self._host, self._entry = name, entry
        self._engine = find_engine(name, entry.engine)
        self._container = f"hopmeter-{name}-{secrets.token_hex(6)}"
        shared = folder / "c"
        shared.mkdir(mode=0o700, exist_ok=True)
        super().__init__(name, run_command(self._engine, self._container, entry, shared), folder / f"{name}.log")

    @property
    def address(self) -> str | None:
        """Return the address of the container in its container network. Return None if the hosts file gives an address
        or the container uses the host network. Raises HostError if the container has no address."""
        if self._entry.network == "host" or "address" in self._entry.model_fields_set:
            return None
        printed = self._ask_engine(["inspect", "--format", ADDRESSES, self._container])
        for word in printed.split():
            with suppress(ValueError):
                return str(ipaddress.ip_address(word))
        what = f"{self._engine} reports no address for the container of the host {self._host}: {printed[:200]!r}"
        raise HostError("E-HOST-UNREACHABLE", what, 'give the host an `address`, or `network = "host"`')

    def _ask_engine(self, words: Sequence[str]) -> str:
        """Run the container engine with the given arguments, and return its output, or an empty string if the engine
        cannot run."""
        with suppress(OSError, subprocess.TimeoutExpired):
            called = subprocess.run(
                [self._engine, *words], capture_output=True, text=True, timeout=ENGINE_S, check=False
            )
            return called.stdout
        return ""

    def close(self) -> None:
        """Close the channel, so that the agent and its container exit. If the container still exists, remove it."""
        super().close()
        self._ask_engine(["rm", "--force", self._container])
