"""Writes the file from which a node replays a recording. The file contains the messages' bytes, followed by a record
for each message to send."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hopmeter.errors import HopmeterError
from hopmeter.recordings.excerpt import Excerpt, Integers, due_times, late_error, pick, read_excerpts
from hopmeter.recordings.formats import read_messages
from hopmeter.recordings.message import Message
from hopmeter.recordings.segments import messages
from hopmeter.recordings.source import RecordingError, RecordingSource

HEAD = struct.Struct("<8sIIQQ32x")
RECORD = np.dtype([("due_ns", "<i8"), ("offset", "<u8"), ("bytes", "<u8"), ("checksum", "<u4"), ("unused", "<u4")])


@dataclass(frozen=True)
class Timing:
    """The speed, repetition, warm-up and duration of a replay, which determine when messages are due.

    The warm-up and the measured replay both start at the beginning of the recording.
    """

    speed: float
    loop: bool
    warmup_ns: int
    duration_ns: int

    @property
    def span_ns(self) -> int:
        """Return how many nanoseconds of the recording the replay needs."""
        return round(max(self.warmup_ns, self.duration_ns) * self.speed) + 1


@dataclass(frozen=True)
class Schedule:
    """The messages to send, as positions in the excerpt, and the due time of each message since the start of the
    warm-up."""

    places: Integers
    due_ns: Integers
    warmup: int
    """The number of messages in the warm-up."""

    @property
    def samples(self) -> Integers:
        """Return the excerpt positions of the measured messages."""
        return self.places[self.warmup :]


@dataclass(frozen=True)
class ReplayRequest:
    """The topic that a flow replays, and the timing of the replay."""

    source: RecordingSource
    timing: Timing


def read_requests(requests: Mapping[str, ReplayRequest]) -> dict[str, Excerpt]:
    """Return the excerpt that each flow replays. Flows that replay one recording share the start time and the loop
    period.

    If a recording cannot be replayed, raises a RecordingError that names the flow.
    """
    spans: dict[Path, dict[str, int]] = {}
    for one in requests.values():
        topics = spans.setdefault(one.source.path, {})
        topics[one.source.topic] = max(one.timing.span_ns, topics.get(one.source.topic, 0))
    return {flow: _read_request(flow, one.source, spans[one.source.path]) for flow, one in requests.items()}


def _read_request(flow: str, source: RecordingSource, spans_ns: Mapping[str, int]) -> Excerpt:
    with naming(flow):
        return pick(read_excerpts(source.path, spans_ns), source.topic)


@contextmanager
def naming(flow: str) -> Iterator[None]:
    """Add the flow's name to each RecordingError in the `with` block."""
    try:
        yield
    except RecordingError as wrong:
        raise RecordingError(wrong.code, f"flow {flow}: {wrong.what}", wrong.remedy) from wrong


def schedule(excerpt: Excerpt, timing: Timing) -> Schedule:
    """Return the messages of the warm-up, followed by the measured messages.

    Raises RecordingError if there are too many messages, or if there is no measured message.
    """
    first, first_ns = due_times(excerpt, timing.speed, timing.loop, timing.warmup_ns)
    then, then_ns = due_times(excerpt, timing.speed, timing.loop, timing.duration_ns)
    if not len(then):
        raise late_error(excerpt.source, float(excerpt.times_ns[0]))
    places, due_ns = np.concatenate([first, then]), np.concatenate([first_ns, then_ns + timing.warmup_ns])
    return Schedule(places, due_ns, len(first))


@dataclass(frozen=True)
class ReplayFile:
    """The replay file of a flow, with the facts about the file that the result records."""

    file: Path
    facts: Mapping[str, Any]
    """The facts about the file for the result."""


def write_replay(excerpt: Excerpt, timing: Timing, into: Path, check: Callable[[], None]) -> ReplayFile:
    """Write to the file `into` the messages that a flow sends. The function `check` is called between messages.

    Raises RecordingError if the recording cannot be replayed, and HopmeterError if the disk is full.
    """
    made = schedule(excerpt, timing)
    try:
        with into.open("xb") as file:
            fingerprint = _write(file, excerpt, made, check)
            file.flush()
            os.fsync(file.fileno())
    except OSError as cause:
        what = f"the messages of {excerpt.source.label} could not be stored in {into.parent}: {cause.strerror or cause}"
        raise HopmeterError("E-RECORDING-ROOM", what, "free space on that disk, or shorten `duration`") from cause
    return ReplayFile(into, _facts(excerpt, made, timing) | {"sha256": fingerprint})


def _write(file: BinaryIO, excerpt: Excerpt, made: Schedule, check: Callable[[], None]) -> str:
    """Write the messages and a record for each, and return the SHA-256 of the messages' recorded times, sizes and
    bytes."""
    from hopmeter._instrument import checksum  # imported here, because few commands need the instrument

    offsets, checksums = (np.zeros(len(excerpt.numbers), np.int64) for _ in range(2))
    end, digest = file.write(bytes(HEAD.size)), hashlib.sha256()
    for place, message in _collect(excerpt):
        check()
        offsets[place], checksums[place] = end, checksum(message.data)
        digest.update(struct.pack("<qQ", message.time_ns, len(message.data)) + message.data)
        end += file.write(message.data)
    records = np.zeros(len(made.places), RECORD)
    records["due_ns"], records["bytes"] = made.due_ns, excerpt.sizes[made.places]
    records["offset"], records["checksum"] = offsets[made.places], checksums[made.places]
    file.write(records.tobytes())
    file.seek(0)
    file.write(HEAD.pack(b"HMREPLAY", 1, RECORD.itemsize, len(records), end))
    return digest.hexdigest()


def _collect(excerpt: Excerpt) -> Iterator[tuple[int, Message]]:
    """Yield the recorded messages of an excerpt, each with its position in the excerpt.

    Raises RecordingError if the recording has changed since the excerpt was made.
    """
    places = {number: place for place, number in enumerate(excerpt.numbers.tolist())}
    wanted = {excerpt.source.topic}
    with closing(read_messages(excerpt.source.path, wanted)) as found:
        for number, message in enumerate(found):
            place = places.pop(number, None)
            if place is not None:
                if len(message.data) != excerpt.sizes[place]:
                    break
                yield place, message
            if not places:
                return
    what = f"{excerpt.source.path} changed while it was read"
    raise RecordingError("E-RECORDING", what, "wait until it is complete, and start again")


def _facts(excerpt: Excerpt, made: Schedule, timing: Timing) -> dict[str, Any]:
    sizes = excerpt.sizes[made.samples]
    return {
        "path": str(excerpt.source.path),
        "topic": excerpt.source.topic,
        "messages": len(sizes),
        "recorded": len(excerpt.sizes),
        "least_bytes": int(sizes.min()),
        "most_bytes": int(sizes.max()),
        "speed": timing.speed,
        "loop": timing.loop,
        **({"notes": list(excerpt.notes)} if excerpt.notes else {}),
    }


def describe(facts: Mapping[str, Any]) -> str:
    """Format the facts about a replayed recording as one line."""
    sizes = f"{facts['least_bytes']:,} to {facts['most_bytes']:,} bytes"
    speed = "" if facts["speed"] == 1 else f", {facts['speed']:g} times as fast"
    loop = f", {facts['recorded']:,} recorded messages in a loop" if facts["loop"] else ""
    topic = f"{facts['path']}, topic {facts['topic']}"
    what = f"{topic}: {messages(facts['messages'])} of {sizes}{speed}{loop}"
    return "; ".join([what, *facts.get("notes", []), f"SHA-256 {facts['sha256'][:16]}…"])
