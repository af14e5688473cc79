"""After a doctor is killed, the next command removes the doctor's files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.waiting import wait_for

DOCTOR = [sys.executable, "-m", "hopmeter", "doctor"]
FLOORS = "import hopmeter.machine.floors as floors; floors.measure()"


def floors_run(doctor: psutil.Process) -> psutil.Process:
    """Return the command that measures the doctor's floors, once the command has created its results folder."""
    return wait_for(lambda: [child for child in doctor.children() if _out(child).parent.is_dir()])[0]


def _out(process: psutil.Process) -> Path:
    words = process.cmdline()
    return Path(words[words.index("--out") + 1]) if "--out" in words else Path("/nowhere/out")


def test_what_a_killed_doctor_left_is_removed_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # otherwise a concurrent command may clean up first
    with subprocess.Popen([sys.executable, "-c", FLOORS]) as doctor:
        run = floors_run(psutil.Process(doctor.pid))
        folder = _out(run).parent
        doctor.kill()
        doctor.wait()
        assert psutil.wait_procs([run], timeout=20)[1] == [], "the run of the floors outlives its doctor"
    assert folder.is_dir()
    done = subprocess.run([*DOCTOR, "--no-floors", "--json"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0
    assert f"cleaned up after a run that was killed: {folder}" in done.stderr.replace("\n", "")
    assert not folder.exists()
