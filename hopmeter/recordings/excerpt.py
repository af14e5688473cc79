"""The part of a recording that a flow replays: the times and sizes of its messages, within limits."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hopmeter.recordings.formats import Message, check_topic, read_messages
from hopmeter.recordings.source import RecordingError, RecordingSource

MOST_BYTES = 1 << 30
"""The most bytes of all messages together: each sender maps them, and reads them from memory."""
MOST_MESSAGES = 1_000_000
SORTABLE_NS = 1_000_000_000
"""How far the times of a recording may go back. A recorder may store messages of several publishers out of order; a
longer step back means that its clock was set."""
MOST_NS = 1 << 63
Integers = NDArray[np.int64]
Keep = Callable[[Message], None]


@dataclass(frozen=True)
class Excerpt:
    """The messages of a recording in the order of their times."""

    source: RecordingSource
    times_ns: Integers
    """From the first message on, ascending."""
    sizes: Integers
    order: Integers
    """The place of each message in the order in which they were read."""
    fingerprint: str
    """SHA-256 of times, sizes and bytes in the order in which they were read."""
    whole: bool
    """Whether the recording ends with these messages."""

    @property
    def period_ns(self) -> float:
        """Return the time after which the messages repeat: the last one is followed by the mean gap."""
        many = len(self.times_ns)
        return float(self.times_ns[-1]) * many / (many - 1) if many > 1 else 0.0


def read_excerpt(source: RecordingSource, span_ns: int) -> Excerpt:
    """Return the messages of the first `span_ns` of a recording. A recording that did not change is read once.

    Raises RecordingError if the recording cannot be read, lacks the topic, exceeds a limit, or has impossible times.
    """
    try:
        state = source.state
    except OSError:
        state = ()  # reading it reports why
    return _read_once(source, span_ns, state)


@lru_cache(maxsize=64)
def _read_once(source: RecordingSource, span_ns: int, _: tuple[int, ...]) -> Excerpt:
    return copy_excerpt(source, span_ns, lambda _: None)


def copy_excerpt(source: RecordingSource, span_ns: int, keep: Keep) -> Excerpt:
    """Read the excerpt, and call `keep` with each message in the order in which they are read."""
    reading = _Reading(source, span_ns)
    for message in read_messages(source):
        if reading.is_over(message):
            break
        if reading.add(message):
            keep(message)
    return reading.finish()


class _Reading:
    """The messages so far."""

    def __init__(self, source: RecordingSource, span_ns: int) -> None:
        self._source, self._span_ns = source, span_ns
        self._times: list[int] = []
        self._sizes: list[int] = []
        self._bytes = 0
        self._first_ns = self._newest_ns = 0
        self._stopped = False
        self._hash = hashlib.sha256()

    def is_over(self, message: Message) -> bool:
        """Return whether no later message can belong to the excerpt."""
        self._stopped = bool(self._times) and message.time_ns >= self._first_ns + self._span_ns + SORTABLE_NS
        return self._stopped

    def add(self, message: Message) -> bool:
        """Add a message, and return whether it may belong to the excerpt."""
        time_ns = message.time_ns
        self._check_time(time_ns)
        self._first_ns = min(time_ns, self._first_ns) if self._times else time_ns
        self._newest_ns = max(time_ns, self._newest_ns)
        if self._times and time_ns >= self._first_ns + self._span_ns:
            self._stopped = True
            return False
        self._times.append(time_ns)
        self._sizes.append(len(message.data))
        self._bytes += len(message.data)
        self._hash.update(struct.pack("<qQ", time_ns, len(message.data)))
        self._hash.update(message.data)
        self._check_room()
        return True

    def _check_time(self, time_ns: int) -> None:
        what = f"{self._source.label}: message {len(self._times)}"
        if not 0 <= time_ns < MOST_NS:
            raise _times_error(f"{what} has the time {time_ns} ns, which is before 1970 or after 2262")
        if self._times and time_ns < self._newest_ns - SORTABLE_NS:
            back_s = (self._newest_ns - time_ns) / 1e9
            raise _times_error(f"{what} is {back_s:.3g} s older than a message before it; hopmeter sorts within 1 s")

    def _check_room(self) -> None:
        if self._bytes > MOST_BYTES or len(self._times) > MOST_MESSAGES:
            raise room_error(self._source)

    def finish(self) -> Excerpt:
        """Return the excerpt, sorted."""
        if not self._times:
            raise _empty_error(self._source)
        times = np.array(self._times, np.int64)
        order = np.argsort(times, kind="stable")
        times = times[order] - times[order[0]]
        order = order[times < self._span_ns]
        times, sizes = times[: len(order)], np.array(self._sizes, np.int64)[order]
        return Excerpt(self._source, times, sizes, order, self._hash.hexdigest(), not self._stopped)


def _times_error(what: str) -> RecordingError:
    return RecordingError("E-RECORDING-TIMES", what, "cut the recording where its clock was set, and replay one part")


def room_error(source: RecordingSource) -> RecordingError:
    """Return the error for an excerpt that exceeds the limits."""
    limits = f"{MOST_BYTES >> 20:,} MiB or {MOST_MESSAGES:,} messages"
    what = f"{source.label}: the messages to replay are more than {limits}"
    return RecordingError("E-RECORDING-ROOM", what, "shorten `duration`, lower `speed`, or choose another topic")


def _empty_error(source: RecordingSource) -> RecordingError:
    check_topic(source)
    what = f"{source.label}: the recording has no message of this topic"
    return RecordingError("E-RECORDING-EMPTY", what, "choose another topic, or record it again")


def due_times(excerpt: Excerpt, speed: float, loop: bool, length_ns: int) -> tuple[Integers, Integers]:
    """Return the messages that are due within `length_ns`, as places in the excerpt, and their due times in ns.

    Raises RecordingError if they are too many, or if a loop would have no length.
    """
    times = np.rint(excerpt.times_ns / speed).astype(np.int64)
    places = np.arange(len(times))
    if loop and excerpt.whole and (rounds := _round_count(excerpt, speed, length_ns)) > 1:
        begins = np.rint(np.arange(rounds) * (excerpt.period_ns / speed)).astype(np.int64)
        times, places = (begins[:, None] + times).ravel(), np.tile(places, rounds)
    due = times < length_ns
    return places[due], times[due]


def _round_count(excerpt: Excerpt, speed: float, length_ns: int) -> int:
    period_ns = excerpt.period_ns / speed
    if not period_ns:
        what = f"{excerpt.source.label}: all messages have the same time, so a loop of them has no length"
        raise RecordingError("E-RECORDING-TIMES", what, "omit `loop`, or record for longer")
    rounds = math.ceil(length_ns / period_ns)
    if rounds * len(excerpt.times_ns) > MOST_MESSAGES:
        raise room_error(excerpt.source)
    return rounds
