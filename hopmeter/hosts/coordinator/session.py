"""The hosts of one command. Connects to the hosts, describes them for the plan, and disconnects when the command
ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.hosts.coordinator.agent_link import Link, closing_links, open_links
from hopmeter.hosts.coordinator.clock_exchange import ClockExchange, ClockHost
from hopmeter.hosts.coordinator.connection import GREETING_S, Connection, RoundTrip, naming_damage, ping_all
from hopmeter.hosts.coordinator.container_agent import ContainerAgent
from hopmeter.hosts.coordinator.host_clock import clock_of
from hopmeter.hosts.coordinator.hosts_file import read_hosts
from hopmeter.hosts.coordinator.questions import BusyAgents
from hopmeter.hosts.coordinator.remote_host import RemoteHost
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.greeting import Greeting, HostError, join_errors
from hopmeter.machine import advice
from hopmeter.manifest import Readiness
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.schemas.library import NAME
from hopmeter.system.scratch_dir import ScratchDir

DESCRIBING_S = 120.0
"""The timeout for an agent to report which of its transports are ready."""


@dataclass(frozen=True)
class Reached:
    """A host whose agent has answered the coordinator's greeting."""

    remote: RemoteHost
    round_trip: RoundTrip

    @property
    def greeting(self) -> Greeting:
        """Return the agent's greeting."""
        return self.remote.connection.greeting


class HostSession:
    """The hosts of a command. Every host except this machine is connected through its agent."""

    def __init__(self, addresses: Mapping[str, str], reached: Mapping[str, Reached]) -> None:
        """`addresses` contains the address of every host by name, and `reached` contains the hosts that are
        connected."""
        self._addresses, self._reached = addresses, reached
        self.remote = {name: each.remote for name, each in reached.items()}
        """The connected hosts by name, for the runtime."""

    @property
    def names(self) -> list[str]:
        """Return the names of all hosts, in the order of the hosts file."""
        return list(self._addresses)

    def facts(self) -> dict[str, HostFacts]:
        """Return the facts about each host that a plan needs, in the order of `names`. Raises HostError if a host does
        not answer."""
        found = self._ask_all("describe")
        return {
            name: self._facts(name, address, found[name]) if name in found else here_facts(name, address)
            for name, address in self._addresses.items()
        }

    def _ask_all(self, do: str) -> dict[str, dict[str, Any]]:
        """Send one request to all agents at once, and return their answers, keyed by host name."""
        with naming("the hosts"):
            asked = {name: each.remote.connection.post(do, DESCRIBING_S) for name, each in self._reached.items()}
            return {name: each.answer() for name, each in asked.items()}

    def _facts(self, name: str, address: str, found: Mapping[str, Any]) -> HostFacts:
        one = self._reached[name]
        with naming(name):
            ready = [_readiness(row) for row in value_checks.items(found, "transports")]
            return HostFacts(
                name,
                address=address,
                ready={(each.transport, each.language): each for each in ready},
                cores=tuple(value_checks.numbers(found, "cores")),
                network=one.greeting.network,
                files=tuple(one.greeting.files.split()),
                clock=one.greeting.clock,
                codecs=tuple(
                    value_checks.matching({"codecs": each}, "codecs", NAME)
                    for each in value_checks.items(found, "codecs")
                ),
            )

    @contextmanager
    def compare_clocks(self, folder: Path) -> Iterator[ClockExchange]:
        """Compare the clocks of all hosts at the beginning of the `with` block, and store the results in the run
        directory `folder`. Raises HostError if the clocks cannot be compared."""
        hosts = {name: self._clock_host(name, address) for name, address in self._addresses.items()}
        exchange = ClockExchange(hosts, folder)
        with naming("the hosts"):
            exchange.start()
        try:
            yield exchange
        finally:
            exchange.stop()

    def _clock_host(self, name: str, address: str) -> ClockHost:
        if name not in self._reached:
            return ClockHost(name, address, Greeting.own().clock)
        one = self._reached[name]
        return ClockHost(name, address, one.greeting.clock, one.round_trip.least_ns, one.remote)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return a description of each host for `run.json`. Raises HostError if a host does not answer."""
        found = self._ask_all("examine")
        return {
            name: self._describe(name, address, found[name]) if name in found else {"here": True, "address": address}
            for name, address in self._addresses.items()
        }

    def _describe(self, name: str, address: str, found: Mapping[str, Any]) -> dict[str, Any]:
        one = self._reached[name]
        with naming(name):
            machine = value_checks.table(found, "machine")
            doctor = advice.findings(machine)
        return {
            "here": False,
            "address": address,
            "name": one.greeting.machine,
            "hopmeter": one.greeting.hopmeter,
            "round_trip_us": one.round_trip.least_ns / 1000,
            "machine": machine,
            "doctor": doctor,
        }


def here_facts(name: str, address: str) -> HostFacts:
    """Return the facts about this machine that a plan needs."""
    own = Greeting.own()
    files = tuple(own.files.split())
    return HostFacts(name, is_here=True, address=address, network=own.network, files=files, clock=own.clock)


@contextmanager
def open_hosts(path: Path) -> Iterator[HostSession]:
    """Connect to the agents of all hosts in a hosts file. The agents run until the `with` block ends. Raises UsageError
    if the hosts file is unusable, and HostError if a host cannot be used."""
    entries = read_hosts(path).host
    with ScratchDir() as ground, closing_links() as links:
        open_links({name: each for name, each in entries.items() if not each.here}, links, ground.directory)
        reached = connect_all(links, ground.directory)
        addresses = {name: find_address(each.address, links.get(name)) for name, each in entries.items()}
        yield HostSession(addresses, reached)


def find_address(named: str, link: Link | None) -> str:
    """Return the address at which other hosts reach a host. The container engine may supply the address of a container.
    Raises HostError if the address of the host is unknown."""
    return (link.address if isinstance(link, ContainerAgent) else None) or named


def connect(name: str, link: Link, folder: Path) -> Reached:
    """Greet the agent on a link. Raises HostError if the agent on the link cannot be used."""
    return connect_all({name: link}, folder)[name]


def connect_all(links: Mapping[str, Link], folder: Path) -> dict[str, Reached]:
    """Exchange greetings with the agents on several links at once. Raises a HostError that names all unusable hosts."""
    busy, deadline = BusyAgents(), time.monotonic() + GREETING_S
    connections: list[Connection] = []
    failures: list[HostError] = []
    for name, link in links.items():
        try:
            left_s = deadline - time.monotonic()
            connections.append(Connection(name, link.channel, link.why_gone, left_s, busy))
        except HostError as failed:
            failures.append(failed)
    if failures:
        raise join_errors(failures)
    with naming("the hosts"):
        round_trips = ping_all(connections)
    return {each.name: _reach(each, trip, folder) for each, trip in zip(connections, round_trips, strict=True)}


def _reach(connection: Connection, round_trip: RoundTrip, folder: Path) -> Reached:
    own = folder / connection.name
    own.mkdir(mode=0o700)
    clock = clock_of(connection.greeting, round_trip)
    return Reached(RemoteHost(connection, clock, round_trip.least_ns, own), round_trip)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Convert a TrialFailedError to a HostError if the error occurs outside a trial."""
    try:
        with naming_damage(name):
            yield
    except TrialFailedError as failed:
        raise HostError(failed.code, failed.what, failed.remedy) from failed


def _readiness(row: Any) -> Readiness:
    """Return how ready a transport is on a host, read from one row of the agent's description."""
    told = value_checks.table({"transport": row}, "transport")
    transport, language, version, code, missing, get = (
        value_checks.printable({key: told.get(key) or ""}, key) for key in READINESS
    )
    about = {"turns": told.get("turns") is True}
    return Readiness(transport, language, told.get("ready") is True, version, code, missing, get, about=about)


READINESS = ("transport", "language", "version", "code", "missing", "get")
