from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hopmeter.store import samples
from hopmeter.store.disk import DiskFullError, StoreError
from tests.coded import refuses
from tests.store.raw import HEAD, raw_bytes, write_raw

ROWS = [{"seq": 0, "due": 5, "sent": 6}, {"seq": 1, "due": 15}]
SOUND = raw_bytes(0, ROWS)

BROKEN = {
    "cut within the head": (SOUND[:100], "E-SAMPLES-UNFINISHED"),
    "the head was never written": (bytes(4096) + SOUND[4096:], "E-SAMPLES-UNFINISHED"),
    "another file": (b"GIF89a\0\0" + SOUND[8:], "E-SAMPLES-DAMAGED"),
    "another version": (SOUND[:8] + b"\x02" + SOUND[9:], "E-VERSIONS-DIFFER 2 64"),
    "another record": (SOUND[:12] + b"\x48" + SOUND[13:], "E-VERSIONS-DIFFER 72"),
    "fewer records than said": (SOUND[:-64], "E-SAMPLES-DAMAGED 1 2"),
    "cut within a record": (SOUND[:-32], "E-SAMPLES-DAMAGED 1.5"),
    "more records than said": (SOUND + bytes(64), "E-SAMPLES-DAMAGED 3"),
    "a count beyond all reason": (
        HEAD.pack(b"HMSAMPLE", 1, 64, 0, 0, 2**60, 0).ljust(4096, b"\0"),
        "E-SAMPLES-DAMAGED 1152921504606846976",
    ),
    "records of someone else": (SOUND[:4096] + raw_bytes(7, ROWS)[4096:], "E-SAMPLES-DAMAGED 0.raw 0"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_an_error_that_says_what_and_what_to_do(case: str, tmp_path: Path) -> None:
    content, what = BROKEN[case]
    path = tmp_path / "0.raw"
    path.write_bytes(content)
    with refuses(StoreError, what) as error:
        samples.read_raw(path)
    assert str(path) in error.value.what
    assert error.value.remedy


def test_a_missing_file_points_to_the_log(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="E-SAMPLES-UNREADABLE") as error:
        samples.read_raw(tmp_path / "0.raw")
    assert "log" in error.value.remedy
    assert isinstance(error.value.__cause__, FileNotFoundError)


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    records = samples.read_raw(write_raw(tmp_path / "3.raw", 3, [{"seq": 2**64 - 1, "copy": 4, "decoded": -7}]))
    assert records.tolist() == [(2**64 - 1, 3, 4, *[samples.NONE_NS] * 5, -7)]


def test_parquet_has_the_columns_of_the_record_and_null_for_what_does_not_apply(tmp_path: Path) -> None:
    files = [write_raw(tmp_path / "0.raw", 0, ROWS), write_raw(tmp_path / "1.raw", 1, [{"seq": 0, "arrived": 9}])]
    assert samples.write_parquet(files, tmp_path / "out.parquet") == 3
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["seq", "endpoint", "copy", *samples.TIMES]
    assert table.column("sent_ns").to_pylist() == [6, None, None]
    assert table.column("arrived_ns").to_pylist() == [None, None, 9]


def test_one_endpoint_is_read_without_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "ROWS_AT_ONCE", 2)
    many = [{"seq": seq, "arrived": 10 * seq} for seq in range(5)]
    files = [write_raw(tmp_path / "0.raw", 0, ROWS), write_raw(tmp_path / "1.raw", 1, many)]
    samples.write_parquet(files, tmp_path / "out.parquet")
    read = samples.Samples(tmp_path / "out.parquet")
    assert read.endpoints == [0, 1]
    found = read.of(1, "seq", "arrived_ns", "sent_ns")
    assert found["seq"].tolist() == [0, 1, 2, 3, 4]
    assert found["arrived_ns"].tolist() == [0, 10, 20, 30, 40]
    assert set(found["sent_ns"].tolist()) == {samples.NONE_NS}
    assert read.of(9, "seq")["seq"].tolist() == []


def test_a_damaged_parquet_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    samples.write_parquet([write_raw(tmp_path / "0.raw", 0, ROWS)], path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="E-SAMPLES-UNREADABLE"):
        samples.Samples(path)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "0.raw", 0, ROWS)
    (tmp_path / f".out.parquet.{os.getpid()}.tmp").symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match="E-DISK-FULL") as error:
        samples.write_parquet([raw], tmp_path / "out.parquet")
    assert "--out" in error.value.remedy
    assert [path.name for path in tmp_path.iterdir()] == ["0.raw"]
