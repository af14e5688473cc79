"""What the conformance suite finds of what a test has left, and what of others it leaves alone."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import remains
from conformance.remains import Watch

RUN = secrets.token_hex(8)


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    monkeypatch.setattr(remains, "PATIENCE_S", 0.0)
    return Watch(RUN, tmp_path)


@pytest.fixture
def file() -> Iterator[Path]:
    """A file where libraries leave theirs, under a name that tells nothing."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as held:
        yield Path(held.name)


def test_nothing_is_left_by_who_left_nothing(watch: Watch) -> None:
    watch.look(os.getpid())
    assert watch.remains() == []


def test_a_file_with_the_name_of_the_run_is_left(watch: Watch) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix=f"hm_{RUN}_") as left:
        assert watch.remains() == [left.name]


def test_a_file_that_only_its_dead_process_held_is_left(watch: Watch, file: Path) -> None:
    held = file.with_name(f"{file.name}.held")
    process = subprocess.Popen(["sh", "-c", f"exec 3>{held}; echo; read word"], stdin=-1, stdout=-1)
    assert process.stdout and process.stdout.readline()
    watch.look(process.pid)
    assert watch.remains() == []
    process.communicate()
    try:
        assert watch.remains() == [str(held)]
    finally:
        held.unlink()


def test_what_others_left_or_made_is_theirs(watch: Watch, file: Path) -> None:
    assert file.exists()
    assert watch.remains() == []


def test_a_process_that_works_for_the_run_is_left(watch: Watch) -> None:
    with subprocess.Popen(["sh", "-c", f"echo; read word # {RUN}"], stdin=-1, stdout=-1) as process:
        assert process.stdout and process.stdout.readline()
        left = watch.remains()
        process.communicate()
    assert [line.startswith(f"process {process.pid}: ") for line in left] == [True]


def test_a_library_installed_in_such_a_place_is_not_left(watch: Watch, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as installed:
        library = Path(installed) / "library.so"
        library.touch()
        later = Watch(RUN, tmp_path)
        later._began += 60
        with library.open():
            later.look(os.getpid())
        assert later.remains() == []
        with library.open():
            watch.look(os.getpid())
        assert watch.remains() == [str(library)]
