"""A started program ends with its launcher, in whichever way the launcher ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hopmeter.system import processes
from tests.waiting import wait_for

LAUNCHER = """
import subprocess, sys, time
from hopmeter.system import processes
if sys.argv[1] == "without":
    processes._setpriv = lambda: None
print(subprocess.Popen(**processes.end_with_launcher(["sleep", "60"])).pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(params=["with", "without"])
def launcher(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", LAUNCHER, request.param]
    root = Path(processes.__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as started:
        yield started
        started.kill()


def test_the_kernel_ends_a_program_whose_launcher_is_killed(launcher: subprocess.Popen[str]) -> None:
    assert launcher.stdout is not None
    pid = int(launcher.stdout.readline())
    while processes.stat_fields(pid) and Path(f"/proc/{pid}/comm").read_text().strip() != "sleep":
        time.sleep(0.01)
    launcher.send_signal(signal.SIGKILL)
    wait_for(lambda: processes.start_ticks(pid) is None)


def test_a_program_that_cannot_be_executed_is_an_error_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        processes.end_with_launcher([str(tmp_path / "absent")])
    (tmp_path / "plain").write_text("no program")
    with pytest.raises(PermissionError):
        processes.end_with_launcher([str(tmp_path / "plain")])
