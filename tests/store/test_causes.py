"""Raw cause files are merged into one Parquet file, and damaged files are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.model.trial import TrialResult
from hopmeter.store.causes import causes_path, read_causes, write_causes
from hopmeter.store.disk import DiskFullError, StoreError
from hopmeter.store.run_folder import RunFolder
from tests.coded import lacking, refuses
from tests.store.causes import raw_causes, write_causes_of
from tests.store.raw import write_raw


def test_raw_files_become_one_file_beside_the_samples(tmp_path: Path) -> None:
    raw = [tmp_path / "1.raw", tmp_path / "3.raw", tmp_path / "5.raw"]
    write_causes_of(raw[0], 1, [(0, 7, 4), (1, 7, 5)])
    write_causes_of(raw[2], 5, [(0, 1, 2**40)])
    write_causes(raw, tmp_path / "c1-0.parquet")
    assert causes_path(tmp_path / "c1-0.parquet").name == "c1-0.causes.parquet"
    found = {name: column.tolist() for name, column in read_causes(tmp_path / "c1-0.parquet").items()}
    assert found == {"endpoint": [1, 1, 5], "seq": [0, 1, 0], "cause_endpoint": [7, 7, 1], "cause_seq": [4, 5, 2**40]}


def test_an_ordinary_trial_has_no_causes(tmp_path: Path) -> None:
    write_causes([tmp_path / "0.raw"], tmp_path / "c1-0.parquet")
    assert list(tmp_path.iterdir()) == []
    assert all(len(column) == 0 for column in read_causes(tmp_path / "c1-0.parquet").values())


WHOLE = raw_causes(3, [(0, 1, 0), (1, 1, 1)])


@pytest.mark.parametrize(
    "content",
    [b"", WHOLE[:63], b"HMSAMPLE" + WHOLE[8:], WHOLE[:-1], WHOLE + bytes(24), WHOLE[:12] + b"\x10" + WHOLE[13:]],
    ids=["empty", "half a head", "other file", "cut", "longer", "other records"],
)
def test_a_damaged_raw_file_is_reported_and_nothing_is_written(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "3.causes").write_bytes(content)
    with refuses(StoreError, f"E-SAMPLES-DAMAGED {tmp_path}/3.causes measure"):
        write_causes([tmp_path / "3.raw"], tmp_path / "c1-0.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["3.causes"]


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_damaged_parquet_file_is_reported(tmp_path: Path, keep: int) -> None:
    write_causes_of(tmp_path / "3.raw", 3, [(seq, 1, seq) for seq in range(500)])
    write_causes([tmp_path / "3.raw"], tmp_path / "c1-0.parquet")
    path = causes_path(tmp_path / "c1-0.parquet")
    path.write_bytes(path.read_bytes()[:keep])
    with refuses(StoreError, f"E-SAMPLES-DAMAGED {path}"):
        read_causes(tmp_path / "c1-0.parquet")


CAUSES = raw_causes(0, [(seq, 1, seq) for seq in range(3)])


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "run", {"cells": []})


def add_trial(folder: RunFolder, content: bytes) -> TrialResult:
    raw = write_raw(folder.path / "0.raw", 0, [{"seq": seq, "due": seq, "sent": seq} for seq in range(3)])
    raw.with_suffix(".causes").write_bytes(content)
    return folder.add_trial(TrialResult("c1", 0, good=True), [raw])


def stored_files(folder: RunFolder) -> list[str]:
    return sorted(path.name for path in (folder.path / "samples").iterdir())


def test_causes_are_stored_beside_the_samples(folder: RunFolder) -> None:
    assert add_trial(folder, CAUSES).good
    assert stored_files(folder) == ["c1-0.causes.parquet", "c1-0.parquet"]


@pytest.mark.parametrize("content", [b"", b"HMSAMPLE" + CAUSES[8:], CAUSES[:-1]])
def test_damaged_causes_fail_the_trial_and_leave_no_samples_behind(folder: RunFolder, content: bytes) -> None:
    result = add_trial(folder, content)
    assert (result.good, result.samples) == (False, "")
    assert lacking(result.reason, "E-SAMPLES-DAMAGED 0.causes") == []
    assert stored_files(folder) == []


def test_a_disk_that_is_full_when_the_causes_are_written_leaves_no_samples_behind(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise DiskFullError("E-DISK-FULL", "the disk is full", "free space")

    monkeypatch.setattr("hopmeter.store.run_folder.write_causes", refuse)
    with pytest.raises(DiskFullError):
        add_trial(folder, CAUSES)
    assert stored_files(folder) == []
