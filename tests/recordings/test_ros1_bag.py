"""ROS 1 bags are readable with an index, without an index, and after the recorder was killed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hopmeter.recordings.formats import read_messages, read_topics
from hopmeter.recordings.source import RecordingError
from tests.coded import refuses

from .made import START_NS, payload, write_ros1
from .mcap_bytes import Sent

MS = 1_000_000
TOPICS = {
    topic: [(START_NS + number * MS, payload(number, 500)) for number in range(5)] for topic in ("/a", "/b", "/c")
}
MESSAGES = [Sent(topic, *each) for topic, messages in TOPICS.items() for each in messages]


def read(path: Path, *topics: str, notes: list[str] | None = None) -> list[Sent]:
    return [Sent(each.topic, each.time_ns, each.data) for each in read_messages(path, set(topics or TOPICS), notes)]


def field(name: bytes, value: bytes) -> bytes:
    return name + b"=" + value


def change_head(path: Path, name: bytes, size: int, value: int) -> int:
    content = path.read_bytes()
    at = content.index(field(name, b"")) + len(name) + 1
    path.write_bytes(content[:at] + value.to_bytes(size, "little") + content[at + size :])
    return int.from_bytes(content[at : at + size], "little")


@pytest.mark.parametrize("compression", ["", "BZ2", "LZ4"])
def test_a_bag_is_read_with_and_without_its_index(tmp_path: Path, compression: str) -> None:
    path = write_ros1(tmp_path / "a.bag", TOPICS, compression)
    notes: list[str] = []
    assert (read_topics(path), read(path, notes=notes), notes) == (list(TOPICS), MESSAGES, [])
    assert read(path, "/b") == MESSAGES[5:10]
    index = change_head(path, b"index_pos", 8, 0)
    assert (read_topics(path), read(path, notes=notes)) == (list(TOPICS), MESSAGES)
    assert len(notes) == 1 and "no index" in notes[0]
    active = path.rename(tmp_path / "a.bag.active")
    active.write_bytes(active.read_bytes()[:index])
    assert (read_topics(active), read(active)) == (list(TOPICS), MESSAGES)


def test_a_wrong_or_cut_index_does_not_matter(tmp_path: Path) -> None:
    path = write_ros1(tmp_path / "a.bag", TOPICS)
    index = change_head(path, b"conn_count", 4, 1000)
    assert (read_topics(path), read(path)) == (list(TOPICS), MESSAGES)
    change_head(path, b"conn_count", 4, index)
    place = change_head(path, b"index_pos", 8, 1 << 60)
    assert read(path) == MESSAGES
    change_head(path, b"index_pos", 8, place)
    path.write_bytes(path.read_bytes()[: place + 30])
    assert (read_topics(path), read(path)) == (list(TOPICS), MESSAGES)


def test_a_chunk_that_is_cut_off_says_where(tmp_path: Path) -> None:
    path = write_ros1(tmp_path / "a.bag", TOPICS)
    change_head(path, b"index_pos", 8, 0)
    path.write_bytes(path.read_bytes()[:9000])
    with refuses(RecordingError, "E-RECORDING damaged cut off 4,109 9,000"):
        read(path)


def test_an_encrypted_bag_and_another_compression_are_kinds_that_cannot_be_read_yet(tmp_path: Path) -> None:
    path = write_ros1(tmp_path / "a.bag", TOPICS)
    content = path.read_bytes()
    secret = struct.pack("<I", 18) + field(b"encryptor", b"rosbag/A")
    head = struct.unpack_from("<I", content, 13)[0]
    path.write_bytes(content[:13] + struct.pack("<I", head + 22) + secret + content[17:])
    with refuses(RecordingError, "E-RECORDING-KIND encryption rosbag/A"):
        read(path)
    path.write_bytes(content.replace(b"compression=none", b"compression=zip4"))
    with refuses(RecordingError, 'E-RECORDING-KIND compression "zip4"'):
        read(path)


def test_time_0_and_a_topic_of_two_publishers(tmp_path: Path) -> None:
    path = write_ros1(tmp_path / "a.bag", {"/a": [(0, b"untimed"), (MS, b"first")], "/b": [(2 * MS, b"")]})
    assert read(path) == [Sent("/a", 0, b"untimed"), Sent("/a", MS, b"first"), Sent("/b", 2 * MS, b"")]
    path.write_bytes(path.read_bytes().replace(b"topic=/b", b"topic=/a"))
    assert [each.data for each in read(path)] == [b"untimed", b"first", b""]
