"""Files that a killed node opened under its own names are removed, unless another process uses them."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hopmeter.system import open_files, scratch_dir
from hopmeter.system.open_files import OpenFile, OpenFiles, Patterns, remove_unused, to_json
from tests.runtime.conftest import Bench
from tests.runtime.test_endings import Launched, launched, notes
from tests.waiting import wait_for

__all__ = ["launched"]

OPENS = """
import mmap, pathlib, sys
path = pathlib.Path(sys.argv[1])
path.write_bytes(b"x" * 4096) if sys.argv[2] == "creates" else None
file = path.open("r+b")
if "maps" in sys.argv:
    memory = mmap.mmap(file.fileno(), 4096)
    file.close()
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def program(path: Path, *how: str) -> Iterator[int]:
    """Start a program that has a file open, or only mapped, and kill it at the end."""
    command = [sys.executable, "-c", OPENS, str(path), *how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process.pid
        process.kill()


@pytest.fixture
def patterns(tmp_path: Path) -> Patterns:
    return {f"{tmp_path}/seg_*": [f"{tmp_path}/{{name}}.lock", f"{tmp_path}/sem.{{name}}"]}


@pytest.fixture
def left(tmp_path: Path, patterns: Patterns) -> OpenFiles:
    found = OpenFiles(patterns)
    with program(tmp_path / "seg_1", "creates", "maps") as pid:
        assert found.note(pid)
        assert not found.note(pid)
    (tmp_path / "seg_1.lock").touch()
    (tmp_path / "sem.seg_1").touch()
    (tmp_path / "sem.seg_2").touch()
    return found


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_files_of_a_killed_program_are_removed_with_those_that_go_with_them(
    left: OpenFiles, tmp_path: Path
) -> None:
    again = map(OpenFile.parse, json.loads(json.dumps(to_json(left.files))))
    assert {Path(path).name for path in remove_unused(again)} == {"seg_1", "seg_1.lock", "sem.seg_1"}
    assert names(tmp_path) == {"sem.seg_2"}


@pytest.mark.parametrize("file", ["seg_1", "seg_1.lock"])
@pytest.mark.parametrize("how", ["opens", "maps"])
def test_files_that_another_program_uses_stay(left: OpenFiles, tmp_path: Path, file: str, how: str) -> None:
    (tmp_path / file).write_bytes(b"x" * 4096)
    with program(tmp_path / file, "uses", how):
        assert remove_unused(left.files) == []
    assert names(tmp_path) == {"seg_1", "seg_1.lock", "sem.seg_1", "sem.seg_2"}
    assert len(remove_unused(left.files)) == 3


def test_files_that_this_program_uses_stay(left: OpenFiles, tmp_path: Path) -> None:
    with (tmp_path / "seg_1").open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        file.close()
        assert remove_unused(left.files) == []


def test_locked_files_stay_even_if_the_process_that_locked_them_is_invisible(
    left: OpenFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "_paths", lambda *_: set())
    with (tmp_path / "seg_1.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_unused(left.files) == []
    assert len(remove_unused(left.files)) == 3


def test_a_new_file_under_the_same_name_stays(left: OpenFiles, tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    (tmp_path / "new").replace(tmp_path / "seg_1")
    assert remove_unused(left.files) == []


def test_the_files_of_another_user_stay(left: OpenFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert remove_unused(left.files) == []


def test_what_another_program_left_behind_earlier_stays(tmp_path: Path, patterns: Patterns) -> None:
    with program(tmp_path / "seg_1", "creates"):
        pass
    found = OpenFiles(patterns)
    with program(tmp_path / "seg_1", "uses") as pid:
        assert not found.note(pid)
    assert remove_unused(found.files) == []
    assert names(tmp_path) == {"seg_1"}


def test_the_last_of_two_programs_that_share_a_file_is_the_one_whose_end_removes_it(
    tmp_path: Path, patterns: Patterns
) -> None:
    first = OpenFiles(patterns)
    with program(tmp_path / "seg_1", "creates") as one:
        first.note(one)
        second = OpenFiles(patterns)
        with program(tmp_path / "seg_1", "uses") as other:
            second.note(other)
            os.kill(one, signal.SIGKILL)
            assert remove_unused(first.files) == []
    assert [Path(path).name for path in remove_unused(second.files)] == ["seg_1"]


def test_what_this_process_had_open_before_is_not_its_transport_s(tmp_path: Path, patterns: Patterns) -> None:
    with (tmp_path / "seg_1").open("x"):
        found = OpenFiles(patterns, not_of=os.getpid())
        with (tmp_path / "seg_2").open("x"):
            assert found.note(os.getpid())
    assert [Path(file.path).name for file in found.files] == ["seg_2"]


def segments() -> set[Path]:
    return set(Path("/dev/shm").glob("hmfake_*"))


@pytest.mark.parametrize(("breaks", "good"), [("opens", True), ("opens and crashes", False)])
def test_a_trial_removes_the_files_of_its_nodes(bench: Bench, breaks: str, good: bool) -> None:
    before = segments()
    assert bench.trial(breaks).good is good
    assert segments() <= before


def test_the_next_command_removes_the_files_of_the_nodes_of_a_killed_launcher(
    launched: Launched, tmp_path: Path
) -> None:
    launcher = launched("opens and hangs", 1)
    home = tmp_path / "home"
    wait_for(lambda: [note for note in notes(home) if len(note["open_files"]) == 2])  # type: ignore[arg-type]
    (note,) = notes(home)
    paths = [Path(fields["path"]) for fields in note["open_files"]]  # type: ignore[attr-defined]
    launcher.kill()
    launcher.wait()
    assert all(path.exists() for path in paths)
    assert scratch_dir.sweep() == [note["directory"]]
    assert not any(path.exists() or Path(f"{path}.lock").exists() for path in paths)
