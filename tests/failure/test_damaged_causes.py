"""Raw causes of a workload that are damaged: their trial fails, and nothing of it stays in the run folder."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hopmeter.model.trial import TrialResult
from hopmeter.store import RunFolder
from hopmeter.store.causes import MAGIC, RECORD
from hopmeter.store.disk import DiskFullError
from tests.coded import lacking
from tests.store.raw import write_raw

COUNT = 3


def causes(magic: bytes = MAGIC, record_bytes: int = RECORD.itemsize, missing: int = 0) -> bytes:
    head = struct.pack("<8sIIIIQ", magic, 1, record_bytes, 0, 0, COUNT).ljust(64, b"\0")
    return head + bytes(COUNT * RECORD.itemsize - missing)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "run", {"cells": []})


def add_trial(folder: RunFolder, content: bytes) -> TrialResult:
    raw = write_raw(folder.path / "0.raw", 0, [{"seq": seq, "intended": seq, "sent": seq} for seq in range(COUNT)])
    raw.with_suffix(".causes").write_bytes(content)
    return folder.add_trial(TrialResult("c1", 0, good=True), [raw])


def stored_files(folder: RunFolder) -> list[str]:
    return sorted(path.name for path in (folder.path / "samples").iterdir())


def test_causes_are_stored_beside_the_samples(folder: RunFolder) -> None:
    assert add_trial(folder, causes()).good
    assert stored_files(folder) == ["c1-0.causes.parquet", "c1-0.parquet"]


@pytest.mark.parametrize("content", [b"", causes(b"HMSAMPLE"), causes(record_bytes=8), causes(missing=1)])
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
        add_trial(folder, causes())
    assert stored_files(folder) == []
