"""Extracts from a recording the times and sizes of the messages that flows replay, up to a maximum size and number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hopmeter.recordings import segments
from hopmeter.recordings.formats import check_topic, read_messages
from hopmeter.recordings.parts import Choice, DisorderError, Parts
from hopmeter.recordings.segments import Track, duration, messages
from hopmeter.recordings.source import RecordingError, RecordingSource
from hopmeter.recordings.streams import MOST_BYTES

LONG_SILENCE_NS = 10_000_000_000
"""The minimum silence of a topic, in nanoseconds, that is reported. The silence must also be longer than the replay."""
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Excerpt:
    """The messages of one topic, in chronological order."""

    source: RecordingSource
    times_ns: Integers
    """The times of the messages since the first message of any topic, in ascending order."""
    sizes: Integers
    numbers: Integers
    """The position of each message among all messages of its topic in the recording."""
    period_ns: float | None
    """The time after which all topics repeat in a loop, or None if the recording is longer than the replay."""
    notes: tuple[str, ...] = ()
    """What was omitted from the recording, and why."""


Excerpts = Mapping[str, Excerpt | RecordingError]
"""Each topic's excerpt, or the error if the topic cannot be replayed."""


def read_excerpt(source: RecordingSource, span_ns: int) -> Excerpt:
    """Return the messages of a topic in the first `span_ns` nanoseconds.

    Raises RecordingError if the topic cannot be replayed.
    """
    return pick(read_excerpts(source.path, {source.topic: span_ns}), source.topic)


def pick(excerpts: Excerpts, topic: str) -> Excerpt:
    """Return the excerpt of a topic. Raises RecordingError if the topic cannot be replayed."""
    found = excerpts[topic]
    if isinstance(found, RecordingError):
        raise found
    return found


def read_excerpts(path: Path, spans_ns: Mapping[str, int]) -> Excerpts:
    """Return an excerpt for each topic in `spans_ns`, which maps topics to the lengths of their excerpts.

    All excerpts start at the earliest message of any topic in `spans_ns`. An unchanged recording is read only once.
    Raises RecordingError if the recording cannot be read.
    """
    try:
        state = RecordingSource(path, "").state
    except OSError:
        state = ()  # a later read of the recording reports this error
    return _read_once(path, tuple(sorted(spans_ns.items())), state)


@lru_cache(maxsize=16)
def _read_once(path: Path, spans_ns: tuple[tuple[str, int], ...], _: tuple[int, ...]) -> Excerpts:
    found, notes, wanted = Parts(dict(spans_ns)), list[str](), set(dict(spans_ns))
    with closing(read_messages(path, wanted, notes)) as found_messages:
        for message in found_messages:
            if found.is_over(message):
                break
            try:
                found.add(message)
            except DisorderError as cause:
                raise RecordingError("E-RECORDING-TIMES", f"{path}: {cause}", "sort its messages by time") from cause
            if not found.needs(message.topic):
                wanted.discard(message.topic)
    choice = found.choose()
    return {topic: _excerpt(RecordingSource(path, topic), found, choice, notes) for topic, _ in spans_ns}


def _excerpt(source: RecordingSource, found: Parts, choice: Choice, notes: list[str]) -> Excerpt | RecordingError:
    if (wrong := _fault(source, found, choice)) is not None:
        return wrong
    segment, topic = choice.segment, source.topic
    track = segment.tracks[topic]
    times = np.array(track.times, np.int64) - segment.start_ns
    order = np.argsort(times, kind="stable")
    order = order[times[order] < segment.spans_ns[topic]]
    return Excerpt(
        source,
        times[order],
        np.array(track.sizes, np.int64)[order],
        np.array(track.numbers, np.int64)[order],
        period_ns=segment.period_ns if segment.is_whole else None,
        notes=(*notes, *_notes(found, choice, topic)),
    )


def _fault(source: RecordingSource, found: Parts, choice: Choice) -> RecordingError | None:
    """Return the error if a topic cannot be replayed, otherwise None."""
    topic, track = source.topic, choice.segment.tracks[source.topic]
    if not found.seen[topic]:
        return _missing_error(source)
    if track.is_full:
        return room_error(source)
    if found.untimed[topic] == found.seen[topic]:
        what = f"{source.label}: no message has a time; a time is from 1 ns to 2262, and message 0 has another"
        return RecordingError("E-RECORDING-TIMES", what, "record it again with a clock that runs, or set the times")
    if not track.seen:
        return _absent_error(source, found, choice)
    return None if track.times else late_error(source, track.first_ns - choice.segment.start_ns)


def _missing_error(source: RecordingSource) -> RecordingError:
    try:
        check_topic(source)
    except RecordingError as wrong:
        return wrong
    what = f"{source.label}: the recording has no message of this topic"
    return RecordingError("E-RECORDING-EMPTY", what, "choose another topic, or record it again")


def _absent_error(source: RecordingSource, found: Parts, choice: Choice) -> RecordingError:
    what = f"{source.label}: it has no message in the part of the recording that is replayed"
    notes = "; ".join(_notes(found, choice, source.topic))
    remedy = "cut the recording where its clock was set, and replay one part"
    return RecordingError("E-RECORDING-EMPTY", f"{what}: {notes}", remedy)


def late_error(source: RecordingSource, late_ns: float) -> RecordingError:
    """Return the error for a topic whose first message would be due after the end of the replay."""
    what = f"{source.label}: its first message comes {duration(late_ns)} after the first of the flows of this recording"
    remedy = "lengthen `duration`, raise `speed`, or omit the flows that begin earlier"
    return RecordingError("E-RECORDING-EMPTY", what, remedy)


def room_error(source: RecordingSource) -> RecordingError:
    """Return the error for an excerpt that exceeds the maximum size or number of messages."""
    limits = f"{MOST_BYTES >> 20:,} MiB or {segments.MOST_MESSAGES:,} messages"
    what = f"{source.label}: the messages to replay are more than {limits}"
    return RecordingError("E-RECORDING-ROOM", what, "shorten `duration`, lower `speed`, or choose another topic")


def _notes(found: Parts, choice: Choice, topic: str) -> Iterator[str]:
    """Yield notes that state which messages of a topic are omitted, and why."""
    track = choice.segment.tracks[topic]
    if many := found.untimed[topic]:
        yield f"left out {messages(many)} without a valid time, such as those recorded at time 0 before a clock ran"
    yield from [f"left out {each}" for each in choice.left_out(topic)]
    if many := found.early[topic]:
        yield f"left out {messages(many)} from before the other topics"
    if track.times and (silent := _silence(track)) > max(LONG_SILENCE_NS, choice.segment.spans_ns[topic]):
        yield f"silent for {duration(silent)} after the first {messages(len(track.times))}"


def _silence(track: Track) -> int:
    return track.next_ns - max(track.times) if track.next_ns < segments.MOST_NS else 0


def due_times(excerpt: Excerpt, speed: float, loop: bool, length_ns: int) -> tuple[Integers, Integers]:
    """Return the excerpt positions of the messages that are due within `length_ns`, and the due times of these messages
    in ns.

    Raises RecordingError if there are too many messages, or if a repeated recording has a length of 0.
    """
    times = np.rint(excerpt.times_ns / speed).astype(np.int64)
    places = np.arange(len(times))
    if loop and excerpt.period_ns is not None and (rounds := _round_count(excerpt, speed, length_ns)) > 1:
        begins = np.rint(np.arange(rounds) * (excerpt.period_ns / speed)).astype(np.int64)
        times, places = (begins[:, None] + times).ravel(), np.tile(places, rounds)
    due = times < length_ns
    return places[due], times[due]


def _round_count(excerpt: Excerpt, speed: float, length_ns: int) -> int:
    period_ns = (excerpt.period_ns or 0.0) / speed
    if not period_ns:
        what = f"{excerpt.source.label}: all messages have the same timestamp, so a loop over them would last 0 s"
        raise RecordingError("E-RECORDING-TIMES", what, "omit `loop`, or record for longer")
    rounds = math.ceil(length_ns / period_ns)
    if rounds * len(excerpt.times_ns) > segments.MOST_MESSAGES:
        raise room_error(excerpt.source)
    return rounds
