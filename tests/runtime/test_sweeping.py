"""Tests for the cleanup after killed runs: from other containers, from other hosts, and by two concurrent commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.store.run_folder import RunFolder
from hopmeter.system import owner_lock, scratch_dir
from hopmeter.system.processes import boot_id, start_ticks
from tests import containers
from tests.runtime.test_endings import Launched, launched, notes
from tests.waiting import wait_for

__all__ = ["launched"]

SWEEP = [sys.executable, "-c", "from hopmeter.system import scratch_dir; print(scratch_dir.sweep())"]
OWNS = """
import os, sys
from hopmeter.system.scratch_dir import ScratchDir
with ScratchDir() as ground:
    child = os.fork()
    if child == 0:
        print(ground.directory, flush=True)
    sys.stdin.read()
"""


def swept_from(namespace: tuple[str, ...]) -> list[str]:
    done = subprocess.run([*containers.inside(namespace), *SWEEP], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.replace("'", '"')))


def write_note(home: Path, **fields: Any) -> Path:
    folder = home / "cache/live"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "1.json"
    path.write_text(json.dumps({"nodes": [], "leftovers": [], "places": {}, **fields}))
    return path


def former(boot: str, directory: Path) -> dict[str, Any]:
    """Return the note's fields in the old format, which has no host name."""
    return {"boot": boot, "launcher": [os.getpid(), 1], "directory": str(directory)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def abandoned(tmp_path: Path) -> Path:
    directory = tmp_path / f"{scratch_dir.PREFIX}abandoned"
    directory.mkdir()
    return directory


@pytest.fixture
def killed(launched: Launched, tmp_path: Path) -> Iterator[dict[str, Any]]:
    launcher = launched("hangs", 1)
    wait_for(lambda: [note for note in notes(tmp_path / "home") if note["nodes"]])
    (note,) = notes(tmp_path / "home")
    launcher.kill()
    launcher.wait()
    yield note
    for path in Path("/dev/shm").glob(Path(str(note["leftovers"][0])).name):  # type: ignore[index]
        path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "namespace", [containers.PIDS, containers.CLOCK, containers.OTHER_HOST], ids=["pids", "clock", "host"]
)
def test_a_live_run_is_not_swept_from_another_container(
    launched: Launched, tmp_path: Path, namespace: tuple[str, ...]
) -> None:
    launcher = launched("slow", 20)
    wait_for(lambda: [note for note in notes(tmp_path / "home") if note["nodes"]])
    directory = Path(str(notes(tmp_path / "home")[0]["directory"]))
    assert swept_from(namespace) == []
    assert directory.is_dir()
    assert launcher.wait(30) == 0
    kept = RunFolder.open(tmp_path / "run").trials
    assert [trial.reason for trial in kept if not trial.good] == []
    assert len(kept) == 20


def test_a_killed_run_is_swept_from_another_pid_namespace(killed: dict[str, Any]) -> None:
    assert swept_from(containers.PIDS) == [killed["directory"]]
    assert not Path(killed["directory"]).exists()


def test_a_killed_run_of_another_host_is_left_to_that_host(killed: dict[str, Any], tmp_path: Path) -> None:
    assert swept_from(containers.OTHER_HOST) == []
    assert Path(killed["directory"]).is_dir()
    assert notes(tmp_path / "home") == [killed]
    assert scratch_dir.sweep() == [killed["directory"]]


def test_a_note_of_another_host_that_shares_the_home_stays(home: Path, tmp_path: Path) -> None:
    owner = replace(owner_lock.this_process(), host="elsewhere", boot="of the other host", pid=1, started=1)
    note = write_note(home, owner=asdict(owner), directory=str(tmp_path / "hm-not-here"))
    assert scratch_dir.sweep() == []
    assert note.exists()


def test_a_note_of_a_host_of_the_same_name_stays(home: Path, abandoned: Path) -> None:
    owner = replace(owner_lock.this_process(), machine="another one", pid=1, started=1)
    write_note(home, owner=asdict(owner), directory=str(abandoned))
    assert scratch_dir.sweep() == []
    assert abandoned.is_dir()


def test_a_note_of_an_earlier_boot_is_removed_with_what_is_left_of_its_folder(home: Path, tmp_path: Path) -> None:
    owner = replace(owner_lock.this_process(), boot="an earlier one")
    note = write_note(home, owner=asdict(owner), directory=str(tmp_path / "hm-gone"))
    assert scratch_dir.sweep() == [str(tmp_path / "hm-gone")]
    assert not note.exists()


def test_leftovers_in_the_shared_memory_of_another_container_are_left_to_it(
    killed: dict[str, Any], tmp_path: Path
) -> None:
    left = Path(killed["leftovers"][0].replace("*", "_left"))
    left.write_text("x")
    assert swept_from(containers.OWN_SHARED_MEMORY) == []
    assert notes(tmp_path / "home") == [killed]
    assert scratch_dir.sweep() == [killed["directory"]]
    assert not left.exists()


def test_a_folder_that_a_killed_broker_left_is_removed_with_its_files(tmp_path: Path) -> None:
    run = "0123456789abcdef"
    left = tmp_path / f"driver-{run}-4000"
    left.mkdir()
    (left / "log.buffer").touch()
    assert scratch_dir.remove_leftovers([f"{tmp_path}/driver-{{run}}-*"], run) == [str(left)]
    assert not left.exists()


def test_a_leftover_that_cannot_be_removed_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError

    (tmp_path / "0123456789abcdef").touch()
    monkeypatch.setattr(scratch_dir, "remove_path", refuse)
    assert scratch_dir.remove_leftovers([f"{tmp_path}/{{run}}"], "0123456789abcdef") == []


def test_a_node_s_number_of_another_namespace_is_not_killed(home: Path, abandoned: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as bystander:
        try:
            owner = replace(owner_lock.this_process(), namespaces="those of another container")
            nodes = [[bystander.pid, start_ticks(bystander.pid)]]
            write_note(home, owner=asdict(owner), directory=str(abandoned), nodes=nodes)
            assert scratch_dir.sweep() == [str(abandoned)]
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_a_node_that_outlived_its_launcher_is_killed(home: Path, abandoned: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as node:
        owner = asdict(owner_lock.this_process())
        write_note(home, owner=owner, directory=str(abandoned), nodes=[[node.pid, start_ticks(node.pid)]])
        assert scratch_dir.sweep() == [str(abandoned)]
        assert node.wait(10) == -signal.SIGKILL


def test_of_two_commands_that_sweep_at_once_one_does(
    home: Path, abandoned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_note(home, owner=asdict(owner_lock.this_process()), directory=str(abandoned))
    clean: Callable[[Any], None] = scratch_dir._clean
    other: list[list[str]] = []

    def clean_while_another_sweeps(note: Any) -> None:
        monkeypatch.setattr(scratch_dir, "_clean", clean)
        other.append(scratch_dir.sweep())
        clean(note)

    monkeypatch.setattr(scratch_dir, "_clean", clean_while_another_sweeps)
    assert scratch_dir.sweep() == [str(abandoned)]
    assert other == [[]]


def test_a_forked_child_does_not_keep_the_folder_of_its_killed_parent(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as own:
        assert own.stdout is not None
        directory = own.stdout.readline().strip()
        assert scratch_dir.sweep() == []
        own.kill()
        own.wait()
        assert scratch_dir.sweep() == [directory]
        assert not Path(directory).exists()


def test_a_folder_without_its_launcher_is_swept_though_it_was_removed_by_hand(home: Path, tmp_path: Path) -> None:
    owner = replace(owner_lock.this_process(), started=1)
    note = write_note(home, owner=asdict(owner), directory=str(tmp_path / "hm-removed"))
    assert scratch_dir.sweep() == [str(tmp_path / "hm-removed")]
    assert not note.exists()


def test_a_note_in_the_former_format_is_swept_when_its_boot_is_over(home: Path, abandoned: Path) -> None:
    write_note(home, **former("an earlier one", abandoned))
    assert scratch_dir.sweep() == [str(abandoned)]
    assert not abandoned.exists()


def test_a_note_in_the_former_format_stays_while_its_launcher_may_run_in_a_container(
    home: Path, abandoned: Path
) -> None:
    note = write_note(home, **former(boot_id(), abandoned))
    assert scratch_dir.sweep() == []
    assert abandoned.is_dir()
    assert note.exists()


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "{}", '{"owner": 7, "directory": 7}', '{"owner": {}, "directory": ""}']
)
def test_a_damaged_note_stops_no_command(home: Path, text: str) -> None:
    write_note(home).write_text(text)
    assert scratch_dir.sweep() == []
