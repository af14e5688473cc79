"""Tests for the choice of clock comparisons, and for the reaction to a lost host."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hopmeter.clocks.pair_model import PairModel
from hopmeter.clocks.run_clocks import RunClocks
from hopmeter.hosts.agent.requests import Requests
from hopmeter.hosts.coordinator import clock_exchange
from hopmeter.hosts.coordinator.clock_exchange import ClockExchange, ClockHost, choose_pairs
from hopmeter.hosts.coordinator.host_clock import HostClock
from hopmeter.hosts.coordinator.remote_host import LEAD_NS, LEAST_LEAD_NS, RemoteHost
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.this_host import ThisHost
from hopmeter.store.clock_file import read_clocks
from hopmeter.system.scratch_dir import ScratchDir
from tests.clocks.simulated import HERE, SECOND, Plain, array, clock

MS = 10**6


class FakeConnection:
    """An agent in this process, which answers until the connection ends."""

    def __init__(self, name: str, ground: ScratchDir) -> None:
        self.name, self.is_gone = name, False
        self._requests = Requests(ground.directory, ThisHost(ground), cast("Any", None))

    def post(self, do: str, _patience_s: float = 0.0, **more: Any) -> Any:
        if self.is_gone:
            raise TrialFailedError("E-HOST-GONE", self.name, "")
        return SimpleNamespace(answer=lambda: self._requests.answer({"do": do, **more}))

    def close(self) -> None:
        self._requests.close()


@pytest.fixture
def agents() -> Iterator[dict[str, FakeConnection]]:
    with ScratchDir() as ground:
        found = {name: FakeConnection(name, ground) for name in ("b", "c", "d")}
        yield found
        for each in found.values():
            each.close()


@pytest.fixture
def hosts(agents: dict[str, FakeConnection], tmp_path: Path) -> dict[str, ClockHost]:
    """Return this machine and agents that claim to have separate clocks."""
    found = {"a": ClockHost("a", "127.0.0.1", "clock a")}
    for name, agent in agents.items():
        remote = RemoteHost(cast("Any", agent), HostClock(10**12, 10**12), MS, tmp_path)
        found[name] = ClockHost(name, "127.0.0.1", f"clock {name}", MS, remote)
    return found


def pairs_of(folder: Path) -> list[tuple[str, str]]:
    return [(batch.asker, batch.responder) for batch in read_clocks(folder)[0]]


def test_of_many_clocks_each_is_compared_with_the_first() -> None:
    few, many = range(4), range(100)
    assert len(choose_pairs(few, is_star=False)) == 6
    assert choose_pairs(many, is_star=True) == [(each, 0) for each in range(1, 100)]


def test_a_star_translates_between_any_two_hosts(
    hosts: dict[str, ClockHost], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_exchange, "MOST_CLOCKS", 3)
    exchange = ClockExchange(hosts, tmp_path)
    exchange.start()
    begin = time.monotonic_ns()
    exchange.compare()
    exchange.stop()
    assert pairs_of(tmp_path) == [("b", "a"), ("c", "a"), ("d", "a")] * 2
    route = RunClocks(read_clocks(tmp_path)[0]).route("b", "d", begin, begin + 1)
    off_ns = abs(int(route.apply(array([begin]))[0]) - begin)
    assert len(route.steps) == 2 and off_ns <= route.uncertainty_ns


@pytest.mark.parametrize("most", [10, 2], ids=["mesh", "star"])
def test_a_lost_host_does_not_end_the_comparison_of_the_others(
    most: int,
    hosts: dict[str, ClockHost],
    agents: dict[str, FakeConnection],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock_exchange, "MOST_CLOCKS", most)
    del hosts["a"]  # so that the first host can be lost
    exchange = ClockExchange(hosts, tmp_path)
    exchange.start()
    before = len(pairs_of(tmp_path))
    agents["b"].is_gone = True
    exchange.compare()
    exchange.stop()
    later = pairs_of(tmp_path)[before:]
    assert later == [("c", "d") if most == 10 else ("d", "c")]


def test_go_uses_the_comparison_and_not_the_pings(hosts: dict[str, ClockHost], tmp_path: Path) -> None:
    exchange = ClockExchange(hosts, tmp_path)
    exchange.start()
    exchange.stop()
    for host in list(hosts.values())[1:]:
        assert host.remote is not None
        now = time.monotonic_ns()
        there, uncertainty_ns = host.remote.clock.translate(now)
        assert abs(there - now) <= uncertainty_ns < 100 * MS
        assert host.remote.lead_ns >= min(LEAST_LEAD_NS, LEAD_NS + 10 * MS + uncertainty_ns)


def test_a_start_time_is_translated_with_drift_and_its_uncertainty_is_part_of_the_lead(tmp_path: Path) -> None:
    there = clock(1000 * SECOND, fast_ppm=90)
    model = PairModel("a", "b", Plain(1, HERE, there).batches(5))
    latest = model.batches[-1].least.at_ns
    reference = HostClock(5 * SECOND, 3 * MS)  # the clock of host `a`, as estimated by pings
    own = reference.beyond(model, "a")
    for later in (0, 10 * SECOND):
        expected = there(latest + later)
        found, uncertainty_ns = own.translate(latest + later - 5 * SECOND)
        assert abs(found - expected) + 3 * MS <= uncertainty_ns
    host = RemoteHost(cast("Any", SimpleNamespace(name="b")), HostClock(0, 500 * MS), 20 * MS, tmp_path)
    assert host.lead_ns == LEAD_NS + 10 * 20 * MS + 500 * MS
