"""The file from which a node replays: its records and bytes, and what the result says about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopmeter._instrument import checksum
from hopmeter.errors import HopmeterError
from hopmeter.recordings.excerpt import read_excerpt
from hopmeter.recordings.replay_file import HEAD, RECORD, ReplayFile, Timing, describe, write_replay
from hopmeter.recordings.source import RecordingError, RecordingSource
from tests.coded import refuses

from .made import START_NS, payload, write_mcap

MS = 1_000_000
SIZES = [100, 0, 7, 3000]
GAPS_MS = [0, 5, 5, 30]
MESSAGES = [
    (START_NS + gap * MS, payload(place, size)) for place, (gap, size) in enumerate(zip(GAPS_MS, SIZES, strict=True))
]


def recording(folder: Path) -> RecordingSource:
    return RecordingSource(write_mcap(folder / "one.mcap", {"/t": MESSAGES}), "/t")


def write(timing: Timing, source: RecordingSource, into: Path) -> ReplayFile:
    return write_replay(read_excerpt(source, timing.span_ns), timing, into, lambda: None)


def read(path: Path) -> tuple[list[int], list[bytes]]:
    """The due times in ms and the bytes of the messages; checks the head and the checksums."""
    content = path.read_bytes()
    magic, version, size, count, at = HEAD.unpack(content[: HEAD.size])
    assert (magic, version, size, at + count * size) == (b"HMREPLAY", 1, RECORD.itemsize, len(content))
    records = np.frombuffer(content, RECORD, offset=at)
    found = [content[each["offset"] : each["offset"] + each["bytes"]] for each in records]
    assert [checksum(each) for each in found] == records["checksum"].tolist()
    return (records["due_ns"] // MS).tolist(), found


def test_the_warm_up_sends_the_beginning_and_the_recording_follows(tmp_path: Path) -> None:
    timing = Timing(1.0, False, warmup_ns=20 * MS, duration_ns=100 * MS)
    made = write(timing, recording(tmp_path), tmp_path / "f.replay")
    due_ms, found = read(made.file)
    assert due_ms == [0, 5, 5, 20, 25, 25, 50]
    payloads = [data for _, data in MESSAGES]
    assert found == [*payloads[:3], *payloads]


def test_a_loop_at_twice_the_speed_stores_each_message_once(tmp_path: Path) -> None:
    timing = Timing(2.0, True, warmup_ns=1 * MS, duration_ns=41 * MS)
    made = write(timing, recording(tmp_path), tmp_path / "f.replay")
    due_ms, found = read(made.file)
    assert due_ms == [0, *[1 + ms for ms in (0, 2, 2, 15, 20, 22, 22, 35, 40)]]
    assert found[1:5] == found[5:9] == [data for _, data in MESSAGES]
    assert made.file.stat().st_size < HEAD.size + 2 * sum(SIZES) + 10 * RECORD.itemsize


def test_the_facts_say_what_was_sent(tmp_path: Path) -> None:
    source = recording(tmp_path)
    one = write(Timing(1.0, False, MS, 10 * MS), source, tmp_path / "f.replay").facts
    assert (one["messages"], one["recorded"], one["least_bytes"], one["most_bytes"]) == (3, 3, 0, 100)
    assert (one["path"], one["topic"]) == (str(source.path), "/t")
    assert "3 messages of 0 to 100 bytes" in describe(one)
    changed = [*MESSAGES[:2], (MESSAGES[2][0], b"another")]
    write_mcap(source.path, {"/t": changed})
    other = write(Timing(1.0, False, MS, 10 * MS), source, tmp_path / "g.replay").facts
    assert one["sha256"] != other["sha256"]


def test_a_stop_between_messages_ends_the_writing(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_replay(read_excerpt(recording(tmp_path), MS), Timing(1.0, False, MS, MS), tmp_path / "f.replay", stop)


def test_a_recording_that_vanished_and_a_disk_that_cannot_be_written(tmp_path: Path) -> None:
    source = recording(tmp_path)
    with refuses(HopmeterError, "E-RECORDING-ROOM one.mcap:/t missing"):
        write(Timing(1.0, False, MS, MS), source, tmp_path / "missing/f.replay")
    source.path.unlink()
    with refuses(RecordingError, "E-FILE-UNREADABLE one.mcap"):
        write(Timing(1.0, False, MS, MS), source, tmp_path / "f.replay")
