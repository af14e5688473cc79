"""Messages of ROS 2 bags are read from their files, even if metadata.yaml is wrong or missing."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from hopmeter.recordings import formats
from hopmeter.recordings.formats import read_messages, read_topics
from hopmeter.recordings.source import RecordingError
from tests.coded import refuses

from .made import START_NS, payload, write_in_order
from .mcap_bytes import Sent, zstd
from .ros2_bags import write_database, write_metadata

MS = 1_000_000
MESSAGES = [Sent(f"/topic/{number % 2}", START_NS + number * MS, payload(number, 40)) for number in range(12)]
TOPICS = {"/topic/0", "/topic/1"}


def read(path: Path, *topics: str, notes: list[str] | None = None) -> list[Sent]:
    return [Sent(each.topic, each.time_ns, each.data) for each in read_messages(path, set(topics or TOPICS), notes)]


def pack(path: Path) -> Path:
    packed = path.with_name(path.name + ".zstd")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    return packed


@pytest.mark.parametrize("tables", [1, 2, 4])
def test_metadata_of_each_version_is_only_a_hint(tmp_path: Path, tables: int) -> None:
    write_database(tmp_path / "bag_0.db3", MESSAGES, tables)
    for version in range(1, 13):
        write_metadata(tmp_path, ["bag/bag_0.db3" if version < 4 else "bag_0.db3"], version)
        assert (set(read_topics(tmp_path)), read(tmp_path)) == (TOPICS, MESSAGES), version


@pytest.mark.parametrize(
    "text", [None, "", "a: [", "rosbag2_bagfile_information: 5", "- &a [*a]", "\0", "rosbag2_bagfile_information: {}"]
)
def test_broken_or_missing_metadata_does_not_matter(tmp_path: Path, text: str | None) -> None:
    write_database(tmp_path / "bag_0.db3", MESSAGES)
    if text is not None:
        (tmp_path / "metadata.yaml").write_text(text)
    assert read(tmp_path) == MESSAGES


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("storage", ["db3", "mcap"])
@pytest.mark.parametrize("metadata", [False, True])
def test_the_files_of_a_split_bag_are_read_in_their_order(
    tmp_path: Path, storage: str, packed: bool, metadata: bool
) -> None:
    names = [f"bag_{number}.{storage}" for number in range(12)]
    for name, message in zip(names, MESSAGES, strict=True):
        (write_database if storage == "db3" else write_in_order)(tmp_path / name, [message])
        if packed:
            pack(tmp_path / name)
    if metadata:
        write_metadata(tmp_path, names[:5], 5, compression_mode="FILE", compression_format="zstd")
    assert read(tmp_path) == MESSAGES
    assert read(tmp_path, "/topic/1") == MESSAGES[1::2]


def test_a_listed_file_that_is_missing_is_said(tmp_path: Path) -> None:
    write_database(tmp_path / "bag_0.db3", MESSAGES)
    write_metadata(tmp_path, ["bag_0.db3", "bag_1.db3"], 5)
    notes: list[str] = []
    assert read(tmp_path, notes=notes) == MESSAGES
    assert notes == ["bag_1.db3, which metadata.yaml lists, is missing: its messages are left out"]
    write_metadata(tmp_path, ["former_0.db3"], 5)
    assert read(tmp_path, notes=notes[:0]) == MESSAGES


def test_a_folder_of_several_recordings_needs_a_choice(tmp_path: Path) -> None:
    for name in ("drive.mcap", "walk.mcap"):
        write_in_order(tmp_path / name, MESSAGES)
    with refuses(RecordingError, "E-RECORDING 2 recordings drive.mcap walk.mcap"):
        read(tmp_path)
    write_metadata(tmp_path, ["walk.mcap"], 5)
    assert read(tmp_path) == MESSAGES


@pytest.mark.parametrize("encoding", ["cdr", "protobuf_v2"])
def test_a_database_alone_is_read_whatever_its_serialization(tmp_path: Path, encoding: str) -> None:
    path = write_database(tmp_path / "a b?.db3", MESSAGES, encoding=encoding)
    assert read(path) == MESSAGES
    assert read(pack(path)) == MESSAGES


@pytest.mark.parametrize("name", ["DRIVE.MCAP", "drive", "drive.mcap.active", "drive.bag"])
def test_the_first_bytes_decide_and_not_the_name(tmp_path: Path, name: str) -> None:
    assert read(write_in_order(tmp_path / name, MESSAGES)) == MESSAGES
    assert read(write_database(tmp_path / f"{name}.x", MESSAGES)) == MESSAGES


def test_messages_that_are_compressed_one_by_one_are_decompressed(tmp_path: Path) -> None:
    path = write_database(tmp_path / "bag_0.db3", MESSAGES, packed=True)
    assert read(path) == MESSAGES
    write_metadata(tmp_path, [path.name], 5, compression_mode="MESSAGE", compression_format="zstd")
    assert read(tmp_path) == MESSAGES
    as_they_are = write_database(tmp_path / "other_0.db3", MESSAGES, encoding="bytes", packed=True)
    assert zstd.decompress(read(as_they_are)[0].data) == MESSAGES[0].data
    write_metadata(tmp_path, [path.name], 5, compression_mode="MESSAGE", compression_format="lz4")
    with refuses(RecordingError, 'E-RECORDING-KIND "lz4"'):
        read(tmp_path)


def test_a_compressed_message_or_file_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    path = write_database(tmp_path / "bag_0.db3", MESSAGES, packed=True)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE messages SET data = substr(data, 1, length(data) - 9) WHERE id = 2")
    database.close()
    assert len(read(path, "/topic/0")) == 6
    with refuses(RecordingError, "E-RECORDING damaged"):
        read(path)
    packed = pack(write_database(tmp_path / "other_0.db3", MESSAGES))
    packed.write_bytes(packed.read_bytes()[:-9])
    with refuses(RecordingError, "E-RECORDING damaged"):
        read(packed)


def test_what_a_killed_recorder_left_in_the_log_of_the_database_is_read(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.db3", tmp_path / "killed.db3"
    write_database(whole, MESSAGES[:3])
    database = sqlite3.connect(whole)
    database.execute("PRAGMA journal_mode = WAL")
    row = [2, MESSAGES[3].time_ns, MESSAGES[3].data]
    database.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", row)
    database.commit()
    for ending in ("", "-wal"):
        shutil.copy(f"{whole}{ending}", f"{killed}{ending}")
    database.close()
    assert read(killed) == MESSAGES[:4]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "E-RECORDING empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "E-RECORDING pointer Git LFS pull"),
        (b"../.git/annex/objects/x/y/SHA256E-s5--0.mcap", "E-RECORDING pointer git-annex"),
        (b"\x1f\x8b\x08" + bytes(20), "E-RECORDING gzip gunzip"),
        (b"BZh91AY" + bytes(20), "E-RECORDING bzip2"),
        (b"PK\x03\x04" + bytes(20), "E-RECORDING ZIP"),
        (zstd.compress(b"no recording"), "E-RECORDING not recording read"),
        (zstd.compress(bytes(9000))[:-3], "E-RECORDING damaged cut off"),
        (b"#ROSBAG V1.2\n" + bytes(20), 'E-RECORDING-KIND "ROSBAG V1.2" fix'),
        (b"#ROSRECORD V1.1\n", 'E-RECORDING-KIND "ROSRECORD V1.1"'),
        (b"SQLite format 3\0", "E-RECORDING damaged"),
    ],
)
def test_what_is_no_recording_is_called_by_its_name(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "bag_0.mcap").write_bytes(content)
    write_metadata(tmp_path, ["bag_0.mcap"], 5)
    for path in (tmp_path / "bag_0.mcap", tmp_path):
        with refuses(RecordingError, expected):
            read(path)


def test_another_database_is_no_bag(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db3") as database:
        database.execute("CREATE TABLE topics(id INTEGER)")
    database.close()
    with refuses(RecordingError, "E-RECORDING-KIND tables"):
        read(tmp_path / "a.db3")


def test_a_disk_without_room_for_the_decompressed_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(write_database(tmp_path / "a.db3", MESSAGES))
    monkeypatch.setattr(formats, "RESERVE_BYTES", 1 << 62)
    with refuses(RecordingError, "E-RECORDING-ROOM a.db3.zstd space TMPDIR"):
        read(packed)
