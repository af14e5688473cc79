"""Tests for a transport's broker: readiness, address, CPU accounting and termination."""

from __future__ import annotations

import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from hopmeter.manifest.tables.broker import BrokerTable
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes import broker
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess
from hopmeter.system.processes import Reading, pss_bytes, reading

FAKE = Path(__file__).with_name("fake_broker.py")
SHARED_BYTES = 64 << 20


def make_broker(folder: Path, mode: str, **given: Any) -> BrokerProcess:
    command = [sys.executable, str(FAKE), "{port}", "{mode}"]
    told = BrokerTable(**{"title": "faked", "command": command, "ready": "port", "address": "here:{port}", **given})
    return BrokerProcess(told, BrokerContext("ab", folder / "broker", {"mode": mode}, folder / "log", core=0))


def test_it_serves_where_it_says_and_is_gone_afterwards(tmp_path: Path) -> None:
    environment = {"FAKE_MASTER": "at {port} of {run}"}
    with make_broker(tmp_path, "well", environment=environment, files={"conf": "port {port} {mode}"}) as served:
        process = psutil.Process(served.pid)
        port = process.net_connections()[0].laddr.port
        assert served.address == f"here:{port}"
        assert (tmp_path / "broker/conf").read_text() == f"port {port} well"
        assert served.environment == {"FAKE_MASTER": f"at {port} of ab"}
        assert f"told at {port} of ab" in (tmp_path / "log").read_text()
        assert process.cpu_affinity() == [0]
        served.check()
    assert not process.is_running()


@pytest.mark.parametrize(("mode", "text"), [("well", "key {}/credentials/server.key"), ("quiet", "")])
def test_a_part_of_its_files_depends_on_a_setting(mode: str, text: str, tmp_path: Path) -> None:
    texts = {"mode": {"well": "key {credentials}/server.key", "quiet": ""}}
    command = [sys.executable, str(FAKE), "{port}", "well"]
    with make_broker(tmp_path, mode, command=command, setting_texts=texts, files={"conf": "{mode}"}):
        assert (tmp_path / "broker/conf").read_text() == text.format(tmp_path)


def test_a_killed_one_starts_again_where_it_was_and_is_gone_afterwards(tmp_path: Path) -> None:
    with make_broker(tmp_path, "well", ready="line: at your service", files={"conf": "{port} {secret}"}) as served:
        first, conf = psutil.Process(served.pid), (tmp_path / "broker/conf").read_text()
        before_ns = time.monotonic_ns()
        killed_ns = served.kill()
        assert not first.is_running()
        started_ns, ready_ns = served.start_again()
        assert before_ns < killed_ns < started_ns < ready_ns
        second = psutil.Process(served.pid)
        assert second.pid != first.pid and second.is_running()
        assert ((tmp_path / "broker/conf").read_text(), served.address) == (conf, f"here:{conf.split()[0]}")
        assert (tmp_path / "log").read_text().count("at your service") == 2, "the log continues"
        served.check()
    assert not second.is_running()


def test_one_that_is_killed_and_never_started_again_leaves_nothing(tmp_path: Path) -> None:
    left = tmp_path / "well.lock"
    with make_broker(tmp_path, "well", leftover_files=[str(left)]) as served:
        left.touch()
        served.kill()
    assert not left.exists()


def test_a_folder_that_one_leaves_is_removed_with_its_files(tmp_path: Path) -> None:
    left = tmp_path / "well"
    with make_broker(tmp_path, "well", leftover_files=[str(tmp_path / "{mode}")]) as served:
        left.mkdir()
        (left / "log.buffer").touch()
        served.kill()
    assert not left.exists()


def test_a_path_that_cannot_be_removed_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_path = broker.remove_path

    def refuse(path: Path) -> None:
        if path.name == "kept":
            raise PermissionError
        remove_path(path)

    monkeypatch.setattr(broker, "remove_path", refuse)
    left = [tmp_path / "kept", tmp_path / "lock"]
    with make_broker(tmp_path, "well", leftover_files=[str(path) for path in left]):
        for path in left:
            path.touch()
    assert [path.exists() for path in left] == [True, False]


@pytest.mark.parametrize("mode", ["parent", "stubborn"])
def test_what_it_started_ends_with_it_whether_it_listens_or_not(tmp_path: Path, mode: str) -> None:
    with make_broker(tmp_path, mode, ready="line: at your service") as served:
        family = [psutil.Process(served.pid), *psutil.Process(served.pid).children()]
        assert len(family) == (2 if mode == "parent" else 1)
    for process in family:
        process.wait(5)


@pytest.mark.parametrize("mode", ["well", "stubborn"])
def test_what_it_leaves_elsewhere_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(broker, "GRACE_S", 0.2)
    left = tmp_path / f"{mode}.lock"
    with make_broker(tmp_path, mode, leftover_files=[str(tmp_path / "{mode}.lock")], ready="line: at your service"):
        left.touch()
    assert not left.exists()


def test_one_that_ends_at_once_is_tried_again_and_its_words_are_shown(tmp_path: Path) -> None:
    with pytest.raises(TrialFailedError, match=r"faked .*cannot serve: no cable.*E-BROKER-DIED"):
        make_broker(tmp_path, "crash").__enter__()


def test_one_that_never_serves_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "PATIENCE_S", 0.3)
    before = set(psutil.Process().children())  # includes the resource tracker that Python's shared memory starts once
    with pytest.raises(TrialFailedError, match=r"faked .*at your service.*E-BROKER-SILENT"):
        make_broker(tmp_path, "deaf").__enter__()
    assert set(psutil.Process().children()) <= before


def test_one_that_ends_is_noticed(tmp_path: Path) -> None:
    with make_broker(tmp_path, "brief") as served:
        deadline = time.monotonic() + 10
        with pytest.raises(TrialFailedError, match="E-BROKER-DIED"):
            while time.monotonic() < deadline:
                served.check()
                time.sleep(0.05)


def test_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = BrokerTable(title="nowhered", command=["no-such-broker"], ready="port")
    assert told.program is None
    with pytest.raises(TrialFailedError, match=r"nowhered.*E-BROKER-MISSING"):
        BrokerProcess(told, BrokerContext("ab", tmp_path, {}, tmp_path / "log")).__enter__()


def test_what_a_process_uses_is_counted() -> None:
    before = reading(os.getpid())
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    time.sleep(0.01)
    fresh = mmap.mmap(-1, 100 * mmap.PAGESIZE)
    fresh.madvise(mmap.MADV_NOHUGEPAGE)
    fresh.write(bytes(len(fresh)))
    used = reading(os.getpid()).since(before)
    assert 45_000 <= used["user_us"] + used["system_us"] < 5_000_000
    assert used["interval_ns"] >= 60_000_000
    assert used["voluntary_switches"] >= 1
    assert used["minor_faults"] >= 100
    assert used["rss_peak_bytes"] > 1_000_000


def test_user_and_system_are_told_apart_by_the_ticks() -> None:
    before, after = Reading(cpu_ns=0), Reading(cpu_ns=40_000_000, user_ticks=3, system_ticks=1)
    assert (after.since(before)["user_us"], after.since(before)["system_us"]) == (30_000, 10_000)
    assert Reading(cpu_ns=5_000_000).since(before)["user_us"] == 5000, "shorter than a tick"


@pytest.mark.parametrize("ready", ["", "soon", "line:", "line: "])
def test_a_manifest_says_what_proves_it(ready: str) -> None:
    with pytest.raises(ValueError, match=r'"port".*"line: TEXT".*E-VALUE-FORM'):
        BrokerTable(title="t", command=["c"], ready=ready)


def test_memory_that_processes_share_counts_once_in_all() -> None:
    shared = mmap.mmap(-1, SHARED_BYTES)
    shared.write(b"x" * SHARED_BYTES)
    alone = pss_bytes(os.getpid())
    assert alone is not None and alone > SHARED_BYTES
    ours, theirs = os.pipe(), os.pipe()
    if (child := os.fork()) == 0:
        shared[:: mmap.PAGESIZE]  # writes to every page, so that the memory is mapped
        os.write(ours[1], b"ready")
        os.read(theirs[0], 1)
        os._exit(0)
    os.read(ours[0], 5)
    together = [pss_bytes(pid) for pid in (os.getpid(), child)]
    os.write(theirs[1], b"x")
    os.waitpid(child, 0)
    assert all(size is not None and SHARED_BYTES / 2 < size < SHARED_BYTES / 2 + alone for size in together)
    assert sum(filter(None, together)) < alone + SHARED_BYTES / 2
    assert pss_bytes(child) is None, "it has ended"
