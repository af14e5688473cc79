"""Tests for runs that are interrupted, terminated or killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from hopmeter.store.run_folder import RunFolder
from hopmeter.system import owner_lock, scratch_dir
from tests.waiting import wait_for

LAUNCHER = Path(__file__).with_name("launcher.py")
Launched = Callable[[str, int], "subprocess.Popen[str]"]


@pytest.fixture
def launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launched]:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    started: list[subprocess.Popen[str]] = []

    def launch(breaks: str, trials: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(LAUNCHER), breaks, str(trials), str(tmp_path / "run")]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        return started[-1]

    yield launch
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
    scratch_dir.sweep()


def notes(home: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in home.rglob("live/*.json")]


def noted_nodes(home: Path) -> list[int]:
    return [node[0] for note in notes(home) for node in note["nodes"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("number", "breaks", "many"),
    [(signal.SIGINT, "slow", 2), (signal.SIGTERM, "slow", 2), (signal.SIGINT, "slow in a duet", 4)],
)
def test_what_is_finished_stays_when_a_run_is_interrupted(
    launched: Launched, tmp_path: Path, number: int, breaks: str, many: int
) -> None:
    launcher = launched(breaks, 50)
    lines = tmp_path / ".run.partial/trials.jsonl"
    wait_for(lambda: lines.exists() and len(lines.read_text().splitlines()) >= 2)
    nodes = wait_for(lambda: len(noted := noted_nodes(tmp_path / "home")) == many and noted)
    launcher.send_signal(number)
    assert launcher.wait(30) == 130
    kept = RunFolder.open(tmp_path / "run").trials
    assert 2 <= len(kept) < 50
    assert all((trial.turn_s is not None) == (many == 4) for trial in kept)
    assert all(trial.good for trial in kept)
    assert not any(psutil.pid_exists(pid) for pid in nodes)  # type: ignore[attr-defined]
    assert not notes(tmp_path / "home")


def test_the_next_command_sweeps_what_a_killed_launcher_left(launched: Launched, tmp_path: Path) -> None:
    launcher = launched("hangs", 1)
    wait_for(lambda: noted_nodes(tmp_path / "home"))
    note = notes(tmp_path / "home")[0]
    directory = Path(str(note["directory"]))
    left = Path(str(note["leftovers"][0]).replace("*", "_left"))  # type: ignore[index]
    left.write_text("x")
    assert scratch_dir.sweep() == []
    assert directory.exists()
    launcher.kill()
    launcher.wait()
    assert scratch_dir.sweep() == [str(directory)]
    assert not directory.exists()
    assert not left.exists()
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in [node[0] for node in note["nodes"]]))  # type: ignore[attr-defined]


def test_a_number_that_passed_to_another_process_is_not_killed(launched: Launched, tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        folder = tmp_path / "home/cache/live"
        folder.mkdir(parents=True)
        directory = tmp_path / "hm-gone"
        directory.mkdir()
        started = scratch_dir.start_ticks(bystander.pid)
        assert started is not None
        note = {
            "owner": asdict(owner_lock.this_process()),
            "directory": str(directory),
            "nodes": [[bystander.pid, started - 1]],
            "leftovers": ["/tmp/*"],
        }
        (folder / "1.json").write_text(json.dumps(note))
        assert scratch_dir.sweep() == [str(directory)]
        assert bystander.poll() is None
        assert not directory.exists()
    finally:
        bystander.kill()
        bystander.wait()
