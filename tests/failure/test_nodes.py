"""Failures of real nodes are reported with the failing node, a reason and a remedy, and leave nothing behind."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.cells import MEASURED
from tests.coded import lacking
from tests.failure.running import Traces, command, nodes_of, report, role_of, row, run, wait_for_end, without_privileges
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

AWAKE = "/dev/cpu_dma_latency"


def test_a_taken_port_is_named_with_its_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path, "--transport", "tcp", "--set", f"port={port}")
    failed = row(done, "tcp")
    assert done.returncode == 1, done.stderr
    assert (failed["status"], failed["reason_code"]) == ("failed", "E-NODE-FAILED")
    assert f"node 0 (tcp rust, source): endpoint 0 (Source, tcp rust): binding port {port}" in failed["reason"]
    assert "Address already in use" in failed["reason"]
    assert "(use port = 0, which selects a free port)" in failed["reason"]


def test_real_time_without_the_right_to_it_is_refused_clearly(tmp_path: Path) -> None:
    def humble() -> None:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        without_privileges()

    done = run(tmp_path, "--fifo", "10", before=humble)
    failed = row(done, "unix")
    assert (done.returncode, failed["status"]) == (1, "failed")
    assert "taking SCHED_FIFO priority 10: Operation not permitted" in failed["reason"]
    assert "raise the limit `rtprio` in /etc/security/limits.conf, or omit fifo" in failed["reason"]


def test_memory_that_may_not_be_locked_is_refused_clearly(tmp_path: Path) -> None:
    def humble() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
        without_privileges()

    done = run(tmp_path, "--mlock", before=humble)
    failed = row(done, "unix")
    assert (done.returncode, failed["status"]) == (1, "failed")
    assert "locking memory (mlockall)" in failed["reason"]
    assert "raise the limit `memlock` (`ulimit -l unlimited`), or omit `mlock`" in failed["reason"]


def test_cores_are_kept_awake_while_it_is_measured_and_no_longer(tmp_path: Path) -> None:
    if not os.access(AWAKE, os.W_OK):
        failed = row(run(tmp_path, "--no-idle-states"), "unix")
        assert f"keeping cores awake ({AWAKE})" in failed["reason"] and "omit `no_idle_states`" in failed["reason"]
        return
    with subprocess.Popen(
        command(tmp_path, "--no-idle-states", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as measuring:
        nodes = nodes_of(psutil.Process(measuring.pid), 2)
        wait_for(lambda: all(AWAKE in files_of(node) for node in nodes))
        out, errors = measuring.communicate(timeout=120)
    done = subprocess.CompletedProcess(measuring.args, measuring.returncode, out, errors)
    assert row(done, "unix")["status"] in MEASURED
    assert "idle cores kept awake" in report(tmp_path)


def files_of(node: psutil.Process) -> list[str]:
    """Return the open files of a process, including devices."""
    return [str(file.readlink()) for file in Path(f"/proc/{node.pid}/fd").iterdir()]


def test_a_killed_relay_fails_its_trial_and_the_next_trial_is_good(tmp_path: Path) -> None:
    options = ("--relays", "1", "--trials", "2", "--messages", "100")
    with subprocess.Popen(
        command(tmp_path, *options, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as measuring:
        relays = [node for node in nodes_of(psutil.Process(measuring.pid), 3, of="unix") if role_of(node) == "relay"]
        time.sleep(0.3)
        relays[0].kill()
        out, errors = measuring.communicate(timeout=120)
    done = subprocess.CompletedProcess(measuring.args, measuring.returncode, out, errors)
    mine = row(done, "unix")
    assert (mine["trials"], mine["trials_good"]) == (2, 1), errors
    assert lacking(mine["reason"], "W-TRIALS-FAILED 1 of 2 node 1 (unix rust, relay) SIGKILL") == []
    assert mine["received"] == 100, "what the good trial measured stays"
    assert done.returncode == 0, "a cell with a good trial has not failed"


@pytest.mark.parametrize("transport", ["unix", "iceoryx2"])
def test_a_killed_launcher_takes_its_nodes_along_and_the_next_command_sweeps(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # otherwise a concurrent command may clean up first
    with subprocess.Popen(
        command(tmp_path, "--transport", transport, "--messages", "2000"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as measuring:
        nodes = nodes_of(psutil.Process(measuring.pid), 2)
        left = Traces(nodes)
        time.sleep(0.5)
        measuring.kill()
        measuring.wait(10)
        wait_for_end(nodes)
    (tmp_path / "next").mkdir()
    done = run(tmp_path / "next")
    assert done.returncode == 0
    assert "cleaned up after a run that was killed" in done.stderr
    assert left.paths() == [], "the next command removes what the killed one left"


def test_ctrl_c_leaves_no_process_no_socket_and_nothing_in_shared_memory(tmp_path: Path) -> None:
    options = ("--transport", "unix,shm,iceoryx2,zenoh", "--messages", "500", "--trials", "3")
    with subprocess.Popen(
        command(tmp_path, *options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as measuring:
        nodes = nodes_of(psutil.Process(measuring.pid), 2)
        left = Traces(nodes)
        time.sleep(0.5)
        os.killpg(measuring.pid, signal.SIGINT)
        said, _ = measuring.communicate(timeout=60)
    assert measuring.returncode == 130
    assert f"continue with: hopmeter run --resume {tmp_path}" in said
    wait_for_end(nodes)
    assert left.paths() == []


def test_a_corrupt_sample_file_costs_its_trial_and_no_other(tmp_path: Path) -> None:
    assert run(tmp_path, "--transport", "unix,tcp").returncode == 0
    samples = sorted((tmp_path / "run/samples").glob("*unix*.parquet"))
    samples[0].write_bytes(b"not a table")
    page = report(tmp_path)
    assert "Sample files are damaged" in page
    assert "measure again" in page
    assert "tcp" in page, "the other cell is shown all the same"
