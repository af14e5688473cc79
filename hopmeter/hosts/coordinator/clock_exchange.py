"""Compares the clocks of all hosts before the first trial and after each trial, and stores the results.

Up to ten clocks are compared in pairs. More clocks are each compared with one reference clock, because the number of
pairs grows quadratically.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from hopmeter._instrument import ClockResponder
from hopmeter.clocks.batches import Batch, ClockError, measure_batch
from hopmeter.clocks.clock_state import ClockState, read_clock_state
from hopmeter.clocks.pair_model import PairModel
from hopmeter.hosts.coordinator.connection import naming_damage
from hopmeter.hosts.coordinator.host_clock import HostClock
from hopmeter.hosts.coordinator.remote_host import RemoteHost
from hopmeter.hosts.protocol import value_checks
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.store.clock_file import add_clocks

TOKEN_BYTES = 16
BATCH_S = 60.0
MOST_CLOCKS = 10
"""If there are more clocks than this, one reference clock is compared with all others, instead of every pair."""
ASKERS = 16
"""The number of hosts that send clock exchanges at once. A busy responder does not distort the result, because the
kernel takes the timestamps."""
LATEST = 8
"""The number of recent batches used to predict the clock offset of a pair of hosts."""

ComparisonError = ClockError | TrialFailedError
Found = TypeVar("Found")
Host = TypeVar("Host")
Answer = Callable[[], Found]
"""A function that waits for the answer of a host and returns it."""


@dataclass(frozen=True)
class ClockHost:
    """A host that takes part in the clock comparison. If `remote` is None, the host is this machine."""

    name: str
    address: str
    clock: str
    round_trip_ns: int = 0
    remote: RemoteHost | None = None

    @property
    def is_gone(self) -> bool:
        """Return whether the agent of this host has exited."""
        return self.remote is not None and self.remote.connection.is_gone


class ClockExchange:
    """The clock responders that answer clock comparisons on all hosts during a run. Hosts that share one clock count as
    one host in the comparison."""

    def __init__(self, hosts: Mapping[str, ClockHost], folder: Path) -> None:
        """Store the results of all clock comparisons in the run directory `folder`."""
        self._hosts, self._folder = hosts, folder
        self._session, self._token = secrets.token_hex(8), secrets.token_bytes(TOKEN_BYTES)
        self._own: ClockResponder | None = None
        self._ports: dict[str, int] = {}
        self._latest: dict[frozenset[str], list[Batch]] = {}
        self._is_star = len({each.clock for each in hosts.values()}) > MOST_CLOCKS
        self._pings = {name: each.remote.clock for name, each in hosts.items() if each.remote}

    def start(self) -> None:
        """Start the clock responders of all hosts, and compare all clocks. Raises ClockError or TrialFailedError if a
        responder does not start or a comparison fails."""
        failures: list[ComparisonError] = []
        if len(self._clocks()) > 1:
            starts = {name: partial(self._start_responder, host) for name, host in self._hosts.items()}
            self._ports = dict(zip(starts, _answers(starts.items(), failures), strict=False))
        for failure in failures or self._compare(with_sources=True):
            raise failure

    def stop(self) -> None:
        """Stop the clock responder on this machine. The clock responder on another host stops when the agent of that
        host exits."""
        if self._own is not None:
            self._own.stop()

    def compare(self) -> None:
        """Compare all clocks again. If a host does not answer, the offset of its clock remains unknown in this
        comparison."""
        if self._ports:
            self._compare(with_sources=False)

    def _clocks(self) -> list[ClockHost]:
        """Return one host for each clock, because several hosts may share a clock. The first clock is the reference for
        the start time in the `go` message.

        The first host is this machine if this machine takes part in the comparison. If this machine does not take part
        in a star, the first host is the one with the shortest round trip.
        """
        alive = [each for each in self._hosts.values() if not each.is_gone]
        first: dict[str, ClockHost] = {}
        for each in sorted(alive, key=lambda host: (host.remote is not None, self._is_star * host.round_trip_ns)):
            first.setdefault(each.clock, each)
        return list(first.values())

    def _compare(self, with_sources: bool) -> list[ComparisonError]:
        """Compare all clocks, store the results, and return the errors that occurred."""
        failures: list[ComparisonError] = []
        clocks = self._clocks()
        states = [(each.name, partial(self._ask_state, each, with_sources)) for each in self._hosts.values()]
        found = _answers([each for each in states if not self._hosts[each[0]].is_gone], failures)
        batches = list(self._measure_batches(choose_pairs(clocks, self._is_star), failures))
        add_clocks(self._folder, *found, *batches)
        for batch in batches:
            pair = frozenset((batch.asker, batch.responder))
            self._latest[pair] = [*self._latest.get(pair, [])[1 - LATEST :], batch]
        self._set_clocks(clocks)
        return failures

    def _set_clocks(self, clocks: Sequence[ClockHost]) -> None:
        """Update the clock offsets of the hosts, which are used to translate the start time in the `go` message."""
        if not clocks:
            return
        first, names = clocks[0].name, {each.clock: each.name for each in clocks}
        base = self._pings.get(first, HostClock())
        for host in self._hosts.values():
            if host.remote is None or host.is_gone:
                continue
            batches = self._latest.get(frozenset((names[host.clock], first)))
            if batches:
                model = PairModel(batches[0].asker, batches[0].responder, batches)
                host.remote.clock = base.beyond(model, first)
            elif names[host.clock] == first:
                host.remote.clock = base

    def _start_responder(self, host: ClockHost) -> Answer[int]:
        if host.remote is None:
            self._own = ClockResponder(host.address, self._token)
            port = int(self._own.port or 0)
            return lambda: port
        asked = host.remote.connection.post("start-clock", address=host.address, token=self._token.hex())
        return lambda: value_checks.number(asked.answer(), "port", 65_535)

    def _ask_state(self, host: ClockHost, with_sources: bool) -> Answer[ClockState]:
        if host.remote is None:
            return lambda: read_clock_state(self._session, host.name, with_sources)
        named = {"session": self._session, "host": host.name}
        asked = host.remote.connection.post("read-clock", BATCH_S, **named, with_sources=with_sources)
        return lambda: ClockState.model_validate(value_checks.table(asked.answer(), "clock") | named)

    def _measure_batches(
        self, pairs: Sequence[tuple[ClockHost, ClockHost]], failures: list[ComparisonError]
    ) -> Iterator[Batch]:
        """Measure one batch of clock exchanges for each pair of hosts. At most `ASKERS` hosts send clock requests at
        once."""
        askers = list(dict.fromkeys(asker.name for asker, _ in pairs))
        for begin in range(0, len(askers), ASKERS):
            some = askers[begin : begin + ASKERS]
            asks = [
                (asker.name, partial(self._ask_batch, asker, other)) for asker, other in pairs if asker.name in some
            ]
            yield from _answers(asks, failures)

    def _ask_batch(self, asker: ClockHost, responder: ClockHost) -> Answer[Batch]:
        if asker.remote is None:
            address = (responder.address, self._ports[responder.name])
            return lambda: measure_batch(self._session, asker.name, responder.name, address, self._token)
        named = {"session": self._session, "asker": asker.name, "responder": responder.name}
        where = {"address": responder.address, "port": self._ports[responder.name], "token": self._token.hex()}
        asked = asker.remote.connection.post("compare-clock", MOST_CLOCKS * BATCH_S, **named, **where)
        return lambda: Batch.model_validate(value_checks.table(asked.answer(), "burst") | named)


def choose_pairs(clocks: Sequence[Host], is_star: bool) -> list[tuple[Host, Host]]:
    """Return the pairs of clocks to compare; the first clock of each pair sends requests, and the second answers. In a
    star, every clock except the first is compared with the first clock."""
    return [(each, clocks[0]) for each in clocks[1:]] if is_star else list(combinations(clocks, 2))


def _answers(asks: Iterable[tuple[str, Callable[[], Answer[Found]]]], failures: list[ComparisonError]) -> list[Found]:
    """Send a request to each of several hosts at once, and return the answers of the hosts. Errors are appended to
    `failures` instead of being raised."""
    waiting: list[tuple[str, Answer[Found]]] = []
    found: list[Found] = []
    for name, ask in asks:
        with _noting(failures):
            waiting.append((name, ask()))
    for name, answer in waiting:
        with _noting(failures), naming_damage(name):
            found.append(answer())
    return found


@contextmanager
def _noting(failures: list[ComparisonError]) -> Iterator[None]:
    try:
        yield
    except (ClockError, TrialFailedError) as failure:
        failures.append(failure)
