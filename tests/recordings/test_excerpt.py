"""Tests for the replayed excerpt of a recording: its limits, and the due times of its messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopmeter.recordings import segments
from hopmeter.recordings.excerpt import Excerpt, due_times, read_excerpt
from hopmeter.recordings.source import RecordingError, RecordingSource
from tests.coded import lacking, refuses

from .made import START_NS, payload, write_mcap

MS = 1_000_000
SECOND = 1000 * MS


def source(folder: Path, times_ns: list[int], sizes: list[int] | None = None) -> RecordingSource:
    sizes = sizes or [5] * len(times_ns)
    messages = [(time, payload(number, size)) for number, (time, size) in enumerate(zip(times_ns, sizes, strict=True))]
    return RecordingSource(write_mcap(folder / "one.mcap", {"/t": messages}, indexed=False), "/t")


def refusal(recording: RecordingSource, span_ns: int = SECOND) -> str:
    with pytest.raises(RecordingError) as refused:
        read_excerpt(recording, span_ns)
    return str(refused.value)


def test_messages_are_sorted_by_time_and_those_of_the_same_time_stay_in_order(tmp_path: Path) -> None:
    found = read_excerpt(source(tmp_path, [START_NS + ms * MS for ms in (0, 30, 10, 30, 20)], [1, 2, 3, 4, 5]), SECOND)
    assert found.times_ns.tolist() == [0, 10 * MS, 20 * MS, 30 * MS, 30 * MS]
    assert found.sizes.tolist() == [1, 3, 5, 2, 4]
    assert found.numbers.tolist() == [0, 2, 4, 1, 3]
    assert found.period_ns == 37.5 * MS


def test_an_excerpt_ends_with_its_span_and_needs_no_later_message(tmp_path: Path) -> None:
    recording = source(tmp_path, [START_NS + ms * MS for ms in (0, 400, 999, 1000, 1500, 5000)] + [0])
    found = read_excerpt(recording, SECOND)
    assert found.times_ns.tolist() == [0, 400 * MS, 999 * MS]
    assert found.period_ns is None
    assert read_excerpt(recording, 10 * SECOND).notes == (
        "left out 1 message without a valid time, such as those recorded at time 0 before a clock ran",
    )


def test_a_message_before_the_first_one_is_the_first(tmp_path: Path) -> None:
    found = read_excerpt(source(tmp_path, [START_NS + ms * MS for ms in (600, 0, 700)]), 650 * MS)
    assert found.times_ns.tolist() == [0, 600 * MS]


def test_a_topic_without_any_time_is_refused(tmp_path: Path) -> None:
    for times in ([0, 0, 0], [(1 << 63) + 5], [(1 << 64) - 1, 0]):
        assert lacking(refusal(source(tmp_path, times)), "E-RECORDING-TIMES /t time 2262") == []


def test_a_topic_without_messages_is_refused(tmp_path: Path) -> None:
    path = write_mcap(tmp_path / "one.mcap", {"/t": [(1, b"")], "/empty": []})
    assert lacking(refusal(RecordingSource(path, "/empty")), "E-RECORDING-EMPTY /empty") == []
    assert lacking(refusal(RecordingSource(path, "/other")), "E-NO-TOPIC /other /empty, /t") == []


def test_the_limits_are_named_with_what_shortens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = source(tmp_path, [START_NS + ms * MS for ms in range(20)], [1000] * 20)
    monkeypatch.setattr(segments, "MOST_MESSAGES", 19)
    assert lacking(refusal(recording), "E-RECORDING-ROOM 1,024 19 `duration`") == []
    assert len(read_excerpt(recording, 19 * MS).times_ns) == 19, "a shorter span is within the limit"
    monkeypatch.setattr(segments, "MOST_BYTES", 10_000)
    assert lacking(refusal(recording, 15 * MS), "E-RECORDING-ROOM `duration`") == []


def test_a_recording_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    first = read_excerpt(source(tmp_path, [START_NS]), SECOND)
    second = read_excerpt(source(tmp_path, [START_NS, START_NS + 1]), SECOND)
    assert (len(first.times_ns), len(second.times_ns)) == (1, 2)


def due(found: Excerpt, speed: float, loop: bool, length_ms: float) -> list[tuple[int, float]]:
    places, due_ns = due_times(found, speed, loop, round(length_ms * MS))
    return list(zip(places.tolist(), (due_ns / MS).tolist(), strict=True))


def test_due_times_follow_speed_and_loop(tmp_path: Path) -> None:
    found = read_excerpt(source(tmp_path, [START_NS + ms * MS for ms in (0, 10, 40)]), SECOND)
    once = [(0, 0), (1, 10), (2, 40)]
    assert due(found, 1.0, False, 1000) == once
    assert due(found, 2.0, False, 1000) == [(0, 0), (1, 5), (2, 20)]
    assert due(found, 0.5, False, 79) == [(0, 0), (1, 20)], "a message that is due at the end does not count"
    again = [(0, 60), (1, 70), (2, 100)]
    assert due(found, 1.0, True, 105) == [*once, *again], "the last message is followed by the mean gap, 20 ms"
    assert due(found, 2.0, True, 40) == [(0, 0), (1, 5), (2, 20), (0, 30), (1, 35)]
    assert due(found, 1.0, True, 30) == once[:2]


def test_a_part_of_a_recording_is_not_looped(tmp_path: Path) -> None:
    found = read_excerpt(source(tmp_path, [START_NS + ms * MS for ms in (0, 10, 2500)]), 100 * MS)
    assert due(found, 1.0, True, 100) == [(0, 0), (1, 10)]


def test_a_loop_needs_a_length_and_a_number_of_messages_within_the_limit(tmp_path: Path) -> None:
    for times in ([START_NS], [START_NS, START_NS]):
        found = read_excerpt(source(tmp_path, times), SECOND)
        assert due(found, 1.0, False, 10)[0] == (0, 0)
        with refuses(RecordingError, "E-RECORDING-TIMES loop"):
            due(found, 1.0, True, 10)
    dense = read_excerpt(source(tmp_path, [START_NS, START_NS + 1]), SECOND)
    with refuses(RecordingError, "E-RECORDING-ROOM 1,000,000"):
        due(dense, 1.0, True, 1000)


def test_long_recordings_keep_their_nanoseconds(tmp_path: Path) -> None:
    gap = 86_400 * SECOND + 1
    found = read_excerpt(source(tmp_path, [START_NS, START_NS + gap]), 2 * gap)
    assert np.array_equal(due_times(found, 1.0, False, 2 * gap)[1], [0, gap])
