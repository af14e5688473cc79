"""Tests for writing files: a file is replaced only after the new content was written, links are followed, and pipes
stay pipes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from hopmeter.store.disk import StoreError, replacing


def test_a_file_is_replaced_only_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["new"]


def test_two_programs_that_write_one_file_do_not_take_each_others(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    other = "import pathlib, sys; from hopmeter.store.disk import replacing\n"
    other += "with replacing(pathlib.Path(sys.argv[1])) as temporary: temporary.write_text('theirs')"
    with replacing(path) as temporary:
        temporary.write_text("ours")
        subprocess.run([sys.executable, "-c", other, str(path)], check=True)
        assert path.read_text() == "theirs"
    assert [each.read_text() for each in tmp_path.iterdir()] == ["ours"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path, exists: bool) -> None:
    real, link = tmp_path / "there/real.csv", tmp_path / "link.csv"
    real.parent.mkdir()
    if exists:
        real.write_text("old")
    link.symlink_to("there/real.csv")
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (real.read_text(), [each.name for each in real.parent.iterdir()]) == ("new", ["real.csv"])


def test_a_pipe_is_written_into_and_stays_one(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with replacing(pipe) as place:
        place.write_text("new")
    reader.join()
    assert got == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"Is a directory.*E-WRITE-FAILED"), replacing(tmp_path) as place:
        place.write_text("new")
