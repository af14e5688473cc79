"""What `hopmeter hosts` shows: which hosts can be reached, and what they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.errors import HopmeterError
from hopmeter.hosts.agent_link import open_link
from hopmeter.hosts.cluster import Cluster, WorkerLink, connect_cluster, find_workers
from hopmeter.hosts.greeting import Greeting
from hopmeter.hosts.hosts_file import HostEntry, read_hosts
from hopmeter.hosts.session import HostSession, Link, connect
from hopmeter.manifest import Readiness, every, readiness_of_all
from hopmeter.system.scratch_dir import ScratchDir


@dataclass(frozen=True)
class HostState:
    """One host, or why it cannot be used."""

    name: str
    address: str
    error: HopmeterError | None = None
    greeting: Greeting | None = None
    round_trip_us: float | None = None
    """None for this machine."""
    ready: tuple[Readiness, ...] = ()
    clock_offset_us: float | None = None
    """The host's clock minus that of this machine, by half of the round trip at most; None if it is the same clock."""

    def as_json(self) -> dict[str, Any]:
        """Return a line of `hopmeter hosts --json`."""
        return {
            "host": self.name,
            "address": self.address,
            "reachable": self.error is None,
            "code": self.error.code if self.error else None,
            "error": self.error.what if self.error else None,
            "hopmeter": self.greeting.hopmeter if self.greeting else None,
            "spec_format": self.greeting.spec_format if self.greeting else None,
            "round_trip_us": self.round_trip_us,
            "clock_offset_us": self.clock_offset_us,
            "transports": {f"{each.transport} ({each.language})": each.version for each in self.ready},
        }


def survey(path: Path) -> Iterator[HostState]:
    """Yield the state of each host of a file, one after the other."""
    for name, entry in read_hosts(path).host.items():
        try:
            yield _here(name, entry) if entry.here else _reach(name, entry)
        except HopmeterError as failed:
            yield HostState(name, entry.address, failed)


def _here(name: str, entry: HostEntry) -> HostState:
    ready = readiness_of_all(every().values()).values()
    return HostState(name, entry.address, None, Greeting.own(), None, tuple(each for each in ready if each.ready))


def _reach(name: str, entry: HostEntry) -> HostState:
    with ScratchDir() as ground:
        return _describe(name, entry.address, open_link(name, entry, ground.directory), ground.directory)


def survey_cluster(cluster: Cluster) -> Iterator[HostState]:
    """Yield the state of each worker of a cluster that can be a host, one after the other."""
    with connect_cluster(cluster) as client:
        for name, told in find_workers(client).items():
            try:
                with ScratchDir() as ground:
                    link = WorkerLink(client, name, told["contact"])
                    yield _describe(name, told["host"], link, ground.directory)
            except HopmeterError as failed:
                yield HostState(name, told["host"], failed)


def _describe(name: str, address: str, link: Link, folder: Path) -> HostState:
    try:
        one = connect(name, link, folder)
        ready = HostSession({name: address}, {name: one}).facts()[name].ready.values()
        found = tuple(each for each in ready if each.ready)
        trip_us, offset_us = one.round_trip.least_ns / 1000, one.round_trip.offset_ns / 1000
        is_same = one.greeting.clock == Greeting.own().clock
        return HostState(name, address, None, one.greeting, trip_us, found, None if is_same else offset_us)
    finally:
        link.close()
