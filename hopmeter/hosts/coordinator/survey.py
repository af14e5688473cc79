"""The data of `hopmeter hosts`: which hosts can be reached, and their transports and settings."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hopmeter.errors import HopmeterError
from hopmeter.hosts.coordinator.agent_link import Link, open_link
from hopmeter.hosts.coordinator.cluster import Cluster, WorkerLink, connect_cluster, find_workers
from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.hosts_file import HostEntry, read_hosts
from hopmeter.hosts.coordinator.session import DESCRIBING_S, HostSession, connect, find_address, naming
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.greeting import Greeting
from hopmeter.hosts.protocol.stream_probe import Stream, measure_stream
from hopmeter.machine import advice
from hopmeter.machine.finding import Finding
from hopmeter.manifest import Readiness, every, readiness_of_all
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.system.scratch_dir import ScratchDir

TOKEN_BYTES = 16


@dataclass(frozen=True)
class HostState:
    """What `hopmeter hosts` shows about one host: its state, or the error that makes the host unusable."""

    name: str
    address: str
    error: HopmeterError | None = None
    greeting: Greeting | None = None
    round_trip_us: float | None = None
    """The fastest round trip to the agent, or None for this machine."""
    ready: tuple[Readiness, ...] = ()
    clock_offset_us: float | None = None
    """The host's clock minus this machine's clock, with an error of at most half the round trip. The offset is None if
    both share a clock."""
    stream: Stream | None = None
    """One TCP stream from this machine to the host, or None if no stream reached it."""
    unreached: str = ""
    """Why no TCP stream reached the host, or an empty string if a stream did."""
    findings: tuple[Finding, ...] = ()
    """Findings of `hopmeter doctor` about settings of the host that disturb measurements."""

    def as_json(self) -> dict[str, Any]:
        """Convert the state of the host to the JSON object that `hopmeter hosts --json` prints as one line."""
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
            "mtu_bytes": self.stream.mtu_bytes if self.stream else None,
            "stream_gbit_s": self.stream.gbit_s if self.stream else None,
            "unreached": self.unreached or None,
            "findings": list(self.findings),
            "transports": {f"{each.transport} ({each.language})": each.version for each in self.ready},
        }


def survey(path: Path) -> Iterator[HostState]:
    """Yield the state of each host in a hosts file, one by one."""
    for name, entry in read_hosts(path).host.items():
        try:
            yield _here(name, entry) if entry.here else _reach(name, entry)
        except HopmeterError as failed:
            yield HostState(name, entry.address, failed)


def _here(name: str, entry: HostEntry) -> HostState:
    ready = tuple(each for each in readiness_of_all(every().values()).values() if each.ready)
    findings = tuple(advice.worth_telling(advice.findings()))
    return HostState(name, entry.address, None, Greeting.own(), ready=ready, findings=findings)


def _reach(name: str, entry: HostEntry) -> HostState:
    with ScratchDir() as ground:
        return _describe(name, entry.address, open_link(name, entry, ground.directory), ground.directory)


def survey_cluster(cluster: Cluster) -> Iterator[HostState]:
    """Yield the state of each cluster worker that can be a host, one by one."""
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
        address = find_address(address, link)
        ready = HostSession({name: address}, {name: one}).facts()[name].ready.values()
        found = tuple(each for each in ready if each.ready)
        trip_us, offset_us = one.round_trip.least_ns / 1000, one.round_trip.offset_ns / 1000
        is_same = one.greeting.clock == Greeting.own().clock
        state = HostState(name, address, None, one.greeting, trip_us, found, None if is_same else offset_us)
        with naming(name):
            return replace(state, **_way_to(address, one.remote.connection), findings=_findings(one.remote.connection))
    finally:
        link.close()


def _way_to(address: str, connection: Connection) -> dict[str, Any]:
    """Send a TCP stream to the host, to the address that the other hosts use. Return the measured stream, or the reason
    why the stream did not reach the host."""
    token = secrets.token_bytes(TOKEN_BYTES)

    def result() -> tuple[int, int]:
        answer = connection.ask("read-stream")
        return value_checks.number(answer, "bytes"), value_checks.number(answer, "ns")

    try:
        port = value_checks.number(connection.ask("open-stream", address=address, token=token.hex()), "port", 65_535)
        return {"stream": measure_stream(address, port, token, result)}
    except (TrialFailedError, OSError) as cause:
        return {"unreached": cause.what if isinstance(cause, TrialFailedError) else cause.strerror or str(cause)}


def _findings(connection: Connection) -> tuple[Finding, ...]:
    """Return the findings of `hopmeter doctor` about a remote machine."""
    machine = value_checks.table(connection.ask("examine", DESCRIBING_S), "machine")
    return tuple(advice.worth_telling(advice.findings(machine)))
