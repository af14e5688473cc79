"""The conformance suite finds the files that a test leaves, and ignores the files of other processes."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import leak_watch
from conformance.leak_watch import LeakWatch

RUN = secrets.token_hex(8)


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LeakWatch:
    monkeypatch.setattr(leak_watch, "PATIENCE_S", 0.0)
    return LeakWatch(RUN, tmp_path)


@pytest.fixture
def file() -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as held:
        yield Path(held.name)


def test_nothing_is_left_by_who_left_nothing(watch: LeakWatch) -> None:
    watch.record(os.getpid())
    assert watch.leaks() == []


def test_a_file_with_the_name_of_the_run_is_left(watch: LeakWatch) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix=f"hm_{RUN}_") as left:
        assert watch.leaks() == [left.name]


def test_a_file_that_only_its_dead_process_held_is_left(watch: LeakWatch, file: Path) -> None:
    held = file.with_name(f"{file.name}.held")
    process = subprocess.Popen(["sh", "-c", f"exec 3>{held}; echo; read word"], stdin=-1, stdout=-1)
    assert process.stdout and process.stdout.readline()
    watch.record(process.pid)
    assert watch.leaks() == []
    process.communicate()
    try:
        assert watch.leaks() == [str(held)]
    finally:
        held.unlink()


def test_what_others_left_or_made_is_theirs(watch: LeakWatch, file: Path) -> None:
    assert file.exists()
    assert watch.leaks() == []


def test_a_process_that_works_for_the_run_is_left(watch: LeakWatch) -> None:
    with subprocess.Popen(["sh", "-c", f"echo; read word # {RUN}"], stdin=-1, stdout=-1) as process:
        assert process.stdout and process.stdout.readline()
        left = watch.leaks()
        process.communicate()
    assert [line.startswith(f"process {process.pid}: ") for line in left] == [True]


def test_a_library_installed_in_such_a_place_is_not_left(watch: LeakWatch, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as installed:
        library = Path(installed) / "library.so"
        library.touch()
        later = LeakWatch(RUN, tmp_path)
        later._began += 60
        with library.open():
            later.record(os.getpid())
        assert later.leaks() == []
        with library.open():
            watch.record(os.getpid())
        assert watch.leaks() == [str(library)]
