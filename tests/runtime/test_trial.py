"""Tests for a trial's outcome, with real processes (fake_node.py) as nodes."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import psutil
import pytest

from hopmeter.manifest.tables.broker import BrokerTable
from tests.coded import lacking

from .conftest import Bench

FAKE_BROKER = Path(__file__).with_name("fake_broker.py")


def leftovers() -> list[object]:
    running = [each for each in psutil.process_iter(["cmdline"]) if "left-by-fake-node" in (each.info["cmdline"] or [])]
    return [*Path("/dev/shm").glob("*_test"), *running]


@pytest.fixture(autouse=True)
def nothing_is_left(bench: Bench) -> object:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    after = {process.pid for process in psutil.Process().children(recursive=True)}
    assert after <= before
    assert not bench.ground.exists()
    assert not list((bench.folder / "home").rglob("live/*"))
    assert not leftovers()


@pytest.mark.parametrize("shape", [{"placement": "thread"}, {"relays": 2}, {"sinks": 3}, {"pairs": 2}])
def test_a_trial_succeeds_in_every_shape(bench: Bench, shape: dict[str, object]) -> None:
    result = bench.trial(**shape)
    assert result.good, result.reason
    assert result.start_ns > 0
    endpoints = [each for node in result.nodes for each in node["endpoints"]]
    assert [each["id"] for each in endpoints] == list(range(len(endpoints)))
    assert bench.raw == [4096 + 20 * 64] * len(endpoints)
    assert {node["language"] for node in result.nodes} == {"rust"}


def test_what_a_node_prints_goes_to_its_log_and_is_not_understood(bench: Bench) -> None:
    assert bench.trial("prints").good
    assert "what libraries print" in (bench.folder / "c1-fake-rust-0-0.log").read_text()


def test_a_crash_is_told_with_its_signal_and_the_end_of_the_log(bench: Bench) -> None:
    result = bench.trial("crashes")
    assert not result.good
    assert lacking(result.reason, "E-NODE-DIED node 1 (fake rust, sink) SIGSEGV; about to fall") == []
    assert result.remedy == "read logs/c1-fake-rust-0-1.log"


def test_an_exit_without_a_word_is_told_with_its_code(bench: Bench) -> None:
    result = bench.trial("exits")
    assert lacking(result.reason, "E-NODE-DIED 3; no such library: libexample.so.1") == []


def test_what_a_node_says_of_its_failure_is_kept_with_its_remedy(bench: Bench) -> None:
    result = bench.trial("fails")
    assert result.reason.endswith("the port 7 is taken [E-NODE-FAILED]")
    assert result.remedy == "choose another with --set port=0"


@pytest.mark.parametrize("breaks", ["garbage", "nests"])
def test_garbage_on_the_control_channel_fails_the_trial(bench: Bench, breaks: str) -> None:
    assert lacking(bench.trial(breaks).reason, "E-NODE-GARBAGE") == []


@pytest.mark.parametrize(
    ("breaks", "timeout", "says"),
    [
        ("hangs at start", "500ms", "E-NODE-SILENT endpoints 0.5 s"),
        ("hangs", "3s", "E-NODE-SILENT measuring"),
        ("lingers", "3s", "E-NODE-STAYED"),
    ],
)
def test_a_node_that_hangs_is_given_up(bench: Bench, breaks: str, timeout: str, says: str) -> None:
    result = bench.trial(breaks, timeout=timeout)
    assert not result.good
    assert lacking(result.reason, says) == []
    assert result.wall_s < 60  # the process would otherwise hang for 15 minutes


def test_files_and_processes_that_a_node_leaves_are_removed(bench: Bench) -> None:
    assert bench.trial("leaves", placement="thread").good


def test_a_command_that_does_not_exist_names_the_build(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from hopmeter.runtime.processes import node

    def refuse(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(node.LocalNode, "_spawn", staticmethod(refuse))
    result = bench.trial()
    assert lacking(result.reason, "E-NODE-MISSING No such file or directory") == []
    assert result.remedy == "hopmeter build fake"


def test_a_broker_serves_the_trial_and_counts_into_it(bench: Bench) -> None:
    bench.broker = broker("well")
    result = bench.trial()
    assert result.good, result.reason
    *nodes, served = result.nodes
    assert (len(nodes), served["endpoints"], served["facts"]) == (2, [], {"broker": "faked"})
    assert served["version"].startswith("Python 3")
    assert served["resources"]["rss_peak_bytes"] > served["resources"]["pss_bytes"] > 0


@pytest.mark.parametrize(
    ("mode", "says"), [("crash", "E-BROKER-DIED cannot serve: no cable"), ("brief", "E-BROKER-DIED faked")]
)
def test_a_trial_without_its_broker_fails_and_says_why(bench: Bench, mode: str, says: str) -> None:
    bench.broker = broker(mode)
    result = bench.trial(rate=10, messages=60, timeout="20s")
    assert not result.good
    assert lacking(result.reason, says) == []
    assert "-broker.log" in result.remedy


def test_a_broker_that_is_stopped_fails_the_trial_and_is_ended(bench: Bench) -> None:
    bench.broker = broker("freezes")
    result = bench.trial()
    assert not result.good
    assert lacking(result.reason, "E-BROKER-STOPPED faked") == []


def test_a_node_that_was_stopped_for_a_while_is_noted_with_how_long(bench: Bench) -> None:
    source, sink = bench.trial("pauses").nodes
    assert sink["stopped_s"] > 0
    assert "stopped_s" not in source
    assert not [thread for thread in threading.enumerate() if thread.name.endswith("(_watch)")]


def test_the_sides_of_a_duet_run_at_once_from_the_same_start(bench: Bench) -> None:
    old, new = bench.duet("slow", "slow")
    assert old.good and new.good, (old.reason, new.reason)
    assert old.start_ns == new.start_ns
    assert (old.turn_s, new.turn_s) == (0.02, 0.02)
    assert bench.raw == [4096 + 20 * 64] * 4
    assert len({node["pid"] for each in (old, new) for node in each.nodes}) == 4


@pytest.mark.parametrize("breaks", ["exits", "crashes", "lingers"])
@pytest.mark.parametrize("side", [0, 1])
def test_if_one_side_of_a_duet_fails_the_other_goes_on(bench: Bench, breaks: str, side: int) -> None:
    both = ["never", "never"]
    both[side] = breaks
    results = bench.duet(*both, timeout="3s")
    assert [each.good for each in results] == [side != 0, side != 1]
    assert results[side].reason and not results[1 - side].reason


def broker(mode: str) -> BrokerTable:
    command = [sys.executable, str(FAKE_BROKER), "{port}", mode]
    return BrokerTable(title="faked", command=command, version=["faked", "--version"], ready="port")
