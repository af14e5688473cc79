"""Write the file from which a node replays a recording: the bytes, then a record for each message to send."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hopmeter.errors import HopmeterError
from hopmeter.recordings.excerpt import Excerpt, Integers, copy_excerpt, due_times
from hopmeter.recordings.formats import Message
from hopmeter.recordings.source import RecordingSource

HEAD = struct.Struct("<8sIIQQ32x")
RECORD = np.dtype([("due_ns", "<i8"), ("offset", "<u8"), ("bytes", "<u8"), ("checksum", "<u4"), ("unused", "<u4")])


@dataclass(frozen=True)
class Timing:
    """When the messages of a recording are due: from the end of the warm-up on, in which its beginning is also sent."""

    speed: float
    loop: bool
    warmup_ns: int
    duration_ns: int

    @property
    def span_ns(self) -> int:
        """Return how much of the recording is needed."""
        return round(max(self.warmup_ns, self.duration_ns) * self.speed) + 1


@dataclass(frozen=True)
class Schedule:
    """The messages to send, as places in the excerpt, and their due times from the start of the warm-up on."""

    places: Integers
    due_ns: Integers
    warmup: int
    """How many of the messages are sent before messages count."""

    @property
    def samples(self) -> Integers:
        """Return the places of the messages that count."""
        return self.places[self.warmup :]


def schedule(excerpt: Excerpt, timing: Timing) -> Schedule:
    """Return the messages of the warm-up, and then those that count. Raises RecordingError if they are too many."""
    first, first_ns = due_times(excerpt, timing.speed, timing.loop, timing.warmup_ns)
    then, then_ns = due_times(excerpt, timing.speed, timing.loop, timing.duration_ns)
    places, due_ns = np.concatenate([first, then]), np.concatenate([first_ns, then_ns + timing.warmup_ns])
    return Schedule(places, due_ns, len(first))


@dataclass(frozen=True)
class ReplayFile:
    """The file of one flow, and what it was made of."""

    file: Path
    facts: Mapping[str, Any]
    """What the result says about it."""


def write_replay(source: RecordingSource, timing: Timing, into: Path, check: Callable[[], None]) -> ReplayFile:
    """Write the messages of a recording that a flow sends; call `check` between them.

    Raises RecordingError if the recording cannot be replayed, HopmeterError if the disk is full.
    """
    try:
        with into.open("xb") as file:
            excerpt, made = _write(file, source, timing, check)
            file.flush()
            os.fsync(file.fileno())
    except OSError as cause:
        what = f"the messages of {source.label} could not be stored in {into.parent}: {cause.strerror or cause}"
        raise HopmeterError("E-RECORDING-ROOM", what, "free space on that disk, or shorten `duration`") from cause
    return ReplayFile(into, _facts(excerpt, made, timing))


def _write(
    file: BinaryIO, source: RecordingSource, timing: Timing, check: Callable[[], None]
) -> tuple[Excerpt, Schedule]:
    from hopmeter._instrument import checksum  # imported here, because few commands need the instrument

    offsets: list[int] = []
    checksums: list[int] = []
    end = file.write(bytes(HEAD.size))

    def store(message: Message) -> None:
        nonlocal end
        check()
        offsets.append(end)
        checksums.append(checksum(message.data))
        end += file.write(message.data)

    excerpt = copy_excerpt(source, timing.span_ns, store)
    made = schedule(excerpt, timing)
    read = excerpt.order[made.places]
    records = np.zeros(len(read), RECORD)
    records["due_ns"], records["bytes"] = made.due_ns, excerpt.sizes[made.places]
    records["offset"], records["checksum"] = np.array(offsets)[read], np.array(checksums)[read]
    file.write(records.tobytes())
    file.seek(0)
    file.write(HEAD.pack(b"HMREPLAY", 1, RECORD.itemsize, len(read), end))
    return excerpt, made


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
        "sha256": excerpt.fingerprint,
    }


def describe(facts: Mapping[str, Any]) -> str:
    """Format the facts about a replayed recording as one line."""
    sizes = f"{facts['least_bytes']:,} to {facts['most_bytes']:,} bytes"
    speed = "" if facts["speed"] == 1 else f", {facts['speed']:g} times as fast"
    loop = f", {facts['recorded']:,} recorded messages in a loop" if facts["loop"] else ""
    topic = f"{facts['path']}, topic {facts['topic']}"
    return f"{topic}: {facts['messages']:,} messages of {sizes}{speed}{loop}; SHA-256 {facts['sha256'][:16]}…"
