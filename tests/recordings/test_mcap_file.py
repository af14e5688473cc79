"""MCAP files with every combination of optional parts yield all topics and messages."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from hopmeter.recordings.formats import read_messages, read_topics
from hopmeter.recordings.source import RecordingError
from tests.coded import refuses

from .made import START_NS, payload
from .mcap_bytes import DATA_END, MAGIC, Parts, Sent, every_combination, record, write

MS = 1_000_000
END = record(DATA_END, bytes(4))[:9]
MESSAGES = [
    Sent(f"/topic/{number % 3}" if number < 9 else "/late", START_NS + number * MS, payload(number, 7 * number))
    for number in range(14)
]
TOPICS = ["/late", "/silent", "/topic/0", "/topic/1", "/topic/2"]


def store(folder: Path, content: bytes) -> Path:
    path = folder / "drive.mcap"
    path.write_bytes(content)
    return path


def read(path: Path, *topics: str, notes: list[str] | None = None) -> list[Sent]:
    return [Sent(each.topic, each.time_ns, each.data) for each in read_messages(path, set(topics or TOPICS), notes)]


@pytest.mark.parametrize("chunks", [None, "", "zstd", "lz4"])
def test_every_combination_of_optional_parts_has_all_messages(tmp_path: Path, chunks: str | None) -> None:
    for parts in every_combination(chunks):
        path, notes = store(tmp_path, write(MESSAGES, parts, ["/silent"])), list[str]()
        assert read_topics(path) == TOPICS, parts
        assert read(path, notes=notes) == MESSAGES, parts
        assert read(path, "/late") == [each for each in MESSAGES if each.topic == "/late"], parts
        assert notes == [], parts


def test_a_summary_that_contradicts_the_data_is_not_believed(tmp_path: Path) -> None:
    content = write(MESSAGES, Parts(crcs=True))
    at = content.rindex(b"/topic/1")
    path = store(tmp_path, content[:at] + b"/nowhere" + content[at + 8 :])
    assert read_topics(path) == [topic for topic in TOPICS if topic != "/silent"]
    assert read(path) == MESSAGES


@pytest.mark.parametrize("ending", [b"", record(DATA_END, bytes(4)), record(DATA_END, bytes(4)) + b"\x0b\x55"])
def test_a_file_whose_messages_are_whole_is_read_and_its_missing_end_is_said(tmp_path: Path, ending: bytes) -> None:
    content = write(MESSAGES, Parts())
    path = store(tmp_path, content[: content.index(END)] + ending)
    notes: list[str] = []
    assert read(path, notes=notes) == MESSAGES
    assert len(notes) == 1 and "recorder was killed" in notes[0]


@pytest.mark.parametrize("chunks", [None, "zstd"])
def test_a_file_that_ends_within_a_message_says_where(tmp_path: Path, chunks: str | None) -> None:
    content = write(MESSAGES, Parts(chunks, repeated=False))
    path = store(tmp_path, content)
    os.truncate(path, content.index(END) - 1)
    with refuses(RecordingError, "E-RECORDING damaged cut off byte"):
        read(path)


@pytest.mark.parametrize("chunks", [None, "", "zstd", "lz4"])
def test_changed_bytes_of_a_message_are_noticed(tmp_path: Path, chunks: str | None) -> None:
    content = bytearray(write([Sent("/topic/0", START_NS, bytes(4000))], Parts(chunks)))
    content[content.index(b"/topic/0") + 45 if chunks in ("zstd", "lz4") else content.index(bytes(2000)) + 999] ^= 1
    with refuses(RecordingError, "E-RECORDING damaged"):
        read(store(tmp_path, bytes(content)))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((b"\x04\x00\x00\x00zstd", b"\x04\x00\x00\x00abcd"), 'E-RECORDING-KIND compression "abcd"'),
        ((MAGIC, b"\x89MCAP1\r\n"), "E-RECORDING-KIND version"),
        ((b"\x05\x1a\x00", b"\x00\x1a\x00"), "E-RECORDING opcode 0"),
    ],
)
def test_what_cannot_be_read_has_its_right_name(tmp_path: Path, change: Any, expected: str) -> None:
    parts = Parts(None if b"\x1a" in change[0] else "zstd")
    content = write([Sent("/topic/0", START_NS, b"four")], parts).replace(*change)
    with refuses(RecordingError, expected):
        read(store(tmp_path, content))


def test_a_chunk_that_states_a_huge_size_takes_no_memory(tmp_path: Path) -> None:
    content = write(MESSAGES, Parts("zstd", crcs=False))
    at = content.index(b"zstd") - 16
    for size in (1 << 40, (1 << 64) - 1):
        path = store(tmp_path, content[:at] + struct.pack("<Q", size) + content[at + 8 :])
        with refuses(RecordingError, "E-RECORDING damaged"):
            read(path)
