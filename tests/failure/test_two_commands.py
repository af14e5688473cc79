"""Tests for two concurrent commands: in one run folder, and in two containers that share home and /tmp."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import tests.command
from hopmeter.store.run_folder import RunFolder
from tests import containers
from tests.failure.running import command, nodes_of

pytestmark = pytest.mark.slow

MEMORY = ["--transport", "memory", "--placement", "thread"]
LONG = [*MEMORY, "--messages", "400", "--trials", "2"]
SHORT = [*MEMORY, "--messages", "10", "--warmup", "0"]


@pytest.fixture(autouse=True)
def own_notes(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a private folder for notes, so that other commands do not clean up first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@contextmanager
def measuring(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command whose nodes have started; kill it at the end."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            nodes_of(psutil.Process(process.pid), 1)
            yield process
        finally:
            process.kill()


def resuming(run: Path) -> list[str]:
    return tests.command.command("run", "--resume", run, "--no-report")


def resume(run: Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*before, *resuming(run)], capture_output=True, text=True, timeout=120, check=False)


def is_refused(done: subprocess.CompletedProcess[str], run: Path, process: subprocess.Popen[str]) -> bool:
    """Return whether the error names the folder, and the process and host that currently write the run."""
    said = re.sub(r"\s", "", done.stderr)
    holder = f"process {process.pid} on host "
    return done.returncode == 2 and holder.replace(" ", "") in said and run.name in said


def is_whole(run: Path) -> bool:
    """Return whether the run is complete and has no leftovers."""
    good = [trial.good for trial in RunFolder.open(run).trials]
    return good == [True, True] and sorted(path.name for path in run.parent.iterdir()) == ["failing.toml", "run"]


def test_a_run_that_is_being_measured_is_not_resumed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with measuring(command(tmp_path, *LONG)) as first:
        assert is_refused(resume(run), run, first)
        assert is_refused(resume(run, containers.inside(containers.PIDS)), run, first)
        assert first.wait(60) == 0, first.communicate()
    assert is_whole(run)


def test_of_two_commands_that_resume_a_killed_run_the_second_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with measuring(command(tmp_path, *LONG)) as killed:
        killed.kill()
        assert killed.wait(10) == -signal.SIGKILL
    with measuring(resuming(run)) as first:
        assert is_refused(resume(run), run, first)
        assert first.wait(60) == 0, first.communicate()
    assert is_whole(run)
    assert resume(run).returncode == 0, "a finished run has nobody's lock"


@pytest.mark.parametrize("namespace", [containers.PIDS, containers.CLOCK], ids=["pids", "clock"])
def test_a_run_in_another_container_does_not_touch_a_live_one(tmp_path: Path, namespace: tuple[str, ...]) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    with measuring(command(tmp_path / "first", *LONG)) as first:
        words = [*containers.inside(namespace), *command(tmp_path / "second", *SHORT)]
        second = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert second.returncode == 0, second.stderr
        assert "cleaned up" not in second.stdout + second.stderr
        assert first.wait(60) == 0, first.communicate()
    assert is_whole(tmp_path / "first/run")
