"""A remote host, which offers the same interface for trials, brokers and background load as this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.host_clock import HostClock
from hopmeter.hosts.coordinator.questions import answers
from hopmeter.hosts.coordinator.remote_processes import RemoteBackground, names_damage
from hopmeter.hosts.coordinator.remote_trial import RemoteTrial
from hopmeter.hosts.protocol.content_store import content_hash, pieces
from hopmeter.manifest import Manifest
from hopmeter.plan.placement.background_load import Load
from hopmeter.runtime.processes.this_host import LEAD_NS

LEAST_LEAD_NS = 30_000_000
ROUND_TRIPS = 10
"""The time allowed for sending `go`, as a multiple of the fastest round trip."""


class RemoteHost:
    """A remote host that is reached through a connection. Each error names the host."""

    def __init__(self, connection: Connection, clock: HostClock, round_trip_ns: int, folder: Path) -> None:
        """Store all data that the host sends in `folder`, a private directory on this machine."""
        self.connection, self.clock, self._round_trip_ns = connection, clock, round_trip_ns
        self._folder = folder
        self._sent: dict[tuple[Path, int, int], str] = {}

    @property
    def host_name(self) -> str:
        """Return the name of the host."""
        return self.connection.name

    @property
    def lead_ns(self) -> int:
        """Return the minimum time, in nanoseconds, by which the message `go` must reach the host before the schedule
        starts."""
        _, uncertainty_ns = self.clock.translate(time.monotonic_ns())
        return max(LEAST_LEAD_NS, LEAD_NS + ROUND_TRIPS * self._round_trip_ns + uncertainty_ns)

    def trial(
        self, run: str, manifests: Sequence[Manifest], credentials: Sequence[Mapping[str, bytes]] = ()
    ) -> RemoteTrial:
        """Prepare a trial. The agent learns of the trial when the trial's first process starts."""
        return RemoteTrial(self, run, manifests, self._folder / run, credentials)

    def start_background(self, load: Load, _log: Path) -> RemoteBackground:
        """Start a background load on the remote host."""
        loaded = {"cpu_percent": load.cpu_percent, "memory_gb_s": load.memory_gb_s}
        start = self.connection.post("start-background", cores=list(load.cores), **loaded)
        return RemoteBackground(self.connection, start)

    def note_alive(self) -> None:
        """Do nothing, because the host's agent records the processes that it has started."""

    @names_damage
    def send_file(self, path: Path) -> str:
        """Send a file to the host unless the host already has it, and return the file's hash."""
        stat = path.stat()
        key = (path, stat.st_size, stat.st_mtime_ns)
        if key not in self._sent:
            name = content_hash(path)
            if not self.connection.ask("has-file", hash=name)["has"]:
                for _ in answers(
                    self.connection.post("add-file", hash=name, data=each, last=False) for each in pieces(path)
                ):
                    pass
                self.connection.ask("add-file", hash=name, data="", last=True)
            self._sent[key] = name
        return self._sent[key]
