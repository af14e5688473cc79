"""Tests for the replay file of a node: its records and bytes, and its description in the result."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hopmeter._instrument import checksum
from hopmeter.errors import HopmeterError
from hopmeter.recordings.excerpt import read_excerpt
from hopmeter.recordings.replay_file import (
    HEAD,
    RECORD,
    ReplayFile,
    ReplayRequest,
    Timing,
    describe,
    read_requests,
    schedule,
    write_replay,
)
from hopmeter.recordings.source import RecordingError, RecordingSource
from tests.coded import refuses

from .made import START_NS, payload, write_in_order, write_mcap
from .mcap_bytes import Sent

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
    """Return the messages' due times in ms and their contents, after checking the header and the checksums."""
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


@pytest.mark.parametrize(("speed", "loop"), [(1.0, False), (0.5, False), (1.0, True), (4.0, True)])
def test_flows_of_one_recording_keep_their_offset_in_warm_up_loop_and_speed(
    tmp_path: Path, speed: float, loop: bool
) -> None:
    imu = [Sent("/imu", START_NS + ms * MS, b"imu") for ms in range(0, 200, 10)]
    odometry = [Sent("/odometry", START_NS + (ms + 5) * MS, b"odometry") for ms in range(0, 200, 40)]
    path = write_in_order(tmp_path / "one.mcap", sorted(imu + odometry, key=lambda each: each.time_ns))
    timing = Timing(speed, loop, warmup_ns=100 * MS, duration_ns=900 * MS)
    requests = {name: ReplayRequest(RecordingSource(path, f"/{name}"), timing) for name in ("imu", "odometry")}
    due = {flow: schedule(excerpt, timing) for flow, excerpt in read_requests(requests).items()}
    fast, slow = due["imu"].due_ns, due["odometry"].due_ns
    assert len(due["odometry"].samples) == (math.ceil(len(due["imu"].samples) / 4) if loop else 5)
    assert set((slow - round(5 * MS / speed)).tolist()) <= set(fast.tolist())


def test_flows_at_different_speeds_share_their_origin(tmp_path: Path) -> None:
    messages = [Sent("/a", START_NS, b"a"), Sent("/b", START_NS + 20 * MS, b"b"), Sent("/a", START_NS + 30 * MS, b"a")]
    path = write_in_order(tmp_path / "one.mcap", messages)
    timings = {"/a": Timing(1.0, True, 0, 100 * MS), "/b": Timing(2.0, True, 0, 100 * MS)}
    requests = {topic: ReplayRequest(RecordingSource(path, topic), timing) for topic, timing in timings.items()}
    due = {flow: schedule(each, timings[flow]).due_ns / MS for flow, each in read_requests(requests).items()}
    assert due["/a"].tolist() == [0, 30, 60, 90]
    assert due["/b"].tolist() == [10, 40, 70]


def test_a_flow_whose_messages_come_too_late_is_named_with_the_delay(tmp_path: Path) -> None:
    path = write_in_order(tmp_path / "one.mcap", [Sent("/a", START_NS, b"a"), Sent("/b", START_NS + 900 * MS, b"b")])
    late = Timing(1.0, False, 1000 * MS, 800 * MS)
    requests = {topic: ReplayRequest(RecordingSource(path, topic), late) for topic in ("/a", "/b")}
    with refuses(RecordingError, "E-RECORDING-EMPTY 0.9 s `duration`"):
        schedule(read_requests(requests)["/b"], late)
    with refuses(RecordingError, "E-RECORDING-EMPTY flow /b: 0.9 s `duration`"):
        early = Timing(1.0, False, 0, 800 * MS)
        read_requests({topic: replace(each, timing=early) for topic, each in requests.items()})


def test_a_recording_that_changes_between_planning_and_writing_is_an_error(tmp_path: Path) -> None:
    source = recording(tmp_path)
    excerpt = read_excerpt(source, 100 * MS)
    for changed in (MESSAGES[:2], [(time, data + b"!") for time, data in MESSAGES]):
        write_mcap(source.path, {"/t": changed})
        with refuses(RecordingError, "E-RECORDING one.mcap changed"):
            write_replay(excerpt, Timing(1.0, False, 0, 100 * MS), tmp_path / f"{len(changed)}", lambda: None)


def test_the_facts_say_what_was_left_out(tmp_path: Path) -> None:
    path = write_in_order(tmp_path / "one.mcap", [Sent("/t", time, b"") for time in (0, 0, START_NS)])
    made = write(Timing(1.0, False, 0, MS), RecordingSource(path, "/t"), tmp_path / "f.replay")
    assert "left out 2 messages without a valid time" in describe(made.facts)
    assert "notes" not in write(Timing(1.0, False, 0, MS), recording(tmp_path), tmp_path / "g.replay").facts
