"""Compares the clocks of the hosts of a run before its first trial and after each trial, and stores what it finds."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from hopmeter._instrument import ClockResponder
from hopmeter.clocks.bursts import Burst, ClockError, measure_burst
from hopmeter.clocks.clock_state import ClockState, read_clock_state
from hopmeter.hosts import checks
from hopmeter.hosts.connection import Connection, naming_damage
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.store.clock_file import add_clocks

TOKEN_BYTES = 16
BURST_S = 60.0


@dataclass(frozen=True)
class ClockHost:
    """A host whose clock is compared; without a connection it is this machine."""

    name: str
    address: str
    clock: str
    connection: Connection | None = None


class ClockExchange:
    """The responders of all hosts, while a run measures. Hosts that share a clock are compared once, as one."""

    def __init__(self, hosts: Mapping[str, ClockHost], folder: Path) -> None:
        """Store what is found in the folder of a run."""
        self._hosts, self._folder = hosts, folder
        self._session, self._token = secrets.token_hex(8), secrets.token_bytes(TOKEN_BYTES)
        clocks: dict[str, ClockHost] = {}
        for each in hosts.values():
            clocks.setdefault(each.clock, each)
        self._pairs = list(combinations(clocks.values(), 2))
        self._own: ClockResponder | None = None
        self._ports: dict[str, int] = {}

    def start(self) -> None:
        """Start the responders, and compare all clocks. Raises ClockError or TrialFailedError if that fails."""
        for host in {responder.name: responder for _, responder in self._pairs}.values():
            self._ports[host.name] = self._start_responder(host)
        for host in self._hosts.values():
            self._add(self._state(host, with_sources=True))
        for burst in self._bursts():
            self._add(burst)

    def stop(self) -> None:
        """Stop the responder of this machine; the others end with their agents."""
        if self._own is not None:
            self._own.stop()

    def compare(self) -> None:
        """Compare all clocks again. Without an answer, the analysis finds that the clocks are unknown at this time."""
        if not self._pairs:
            return
        try:
            for host in self._hosts.values():
                self._add(self._state(host, with_sources=False))
            for burst in self._bursts():
                self._add(burst)
        except (ClockError, TrialFailedError):
            return

    def _start_responder(self, host: ClockHost) -> int:
        if host.connection is not None:
            answer = host.connection.ask("start-clock", address=host.address, token=self._token.hex())
            with naming_damage(host.name):
                return checks.number(answer, "port", 65_535)
        self._own = ClockResponder(host.address, self._token)
        return int(self._own.port or 0)

    def _bursts(self) -> Iterator[Burst]:
        for asker, responder in self._pairs:
            port = self._ports[responder.name]
            if asker.connection is None:
                yield measure_burst(self._session, asker.name, responder.name, (responder.address, port), self._token)
                continue
            named = {"session": self._session, "asker": asker.name, "responder": responder.name}
            where = {"address": responder.address, "port": port, "token": self._token.hex()}
            answer = asker.connection.ask("compare-clock", BURST_S, **named, **where)
            with naming_damage(asker.name):
                yield Burst.model_validate(checks.table(answer, "burst") | named)

    def _state(self, host: ClockHost, with_sources: bool) -> ClockState:
        if host.connection is None:
            return read_clock_state(self._session, host.name, with_sources)
        named = {"session": self._session, "host": host.name}
        answer = host.connection.ask("read-clock", BURST_S, **named, with_sources=with_sources)
        with naming_damage(host.name):
            return ClockState.model_validate(checks.table(answer, "clock") | named)

    def _add(self, found: Burst | ClockState) -> None:
        add_clocks(self._folder, found)
