"""Collects the messages of a segment: a part of a recording between two clock jumps."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from hopmeter.recordings.streams import MOST_BYTES

MOST_MESSAGES = 1_000_000
MOST_NS = 1 << 63
SORTABLE_NS = 1_000_000_000
"""How far, in nanoseconds, the times of a topic may go back within a segment. A recorder may store messages of several
publishers out of order.

A longer step back means that the recorder's clock was set.
"""
SILENCE_NS = 3_600_000_000_000
"""How long, in nanoseconds, all topics may be silent within a segment.

A longer step forward means that the clock was set, unless the replay is longer than the step.
"""


class Track:
    """The messages of one topic in a segment.

    All messages are counted; only the messages within the replayed time span are collected.
    """

    def __init__(self) -> None:
        self.times, self.sizes, self.numbers = array("q"), array("q"), array("q")
        self.seen = self.bytes = 0
        self.first_ns, self.newest_ns = MOST_NS, -1
        self.next_ns = MOST_NS
        """The time of the earliest message after the span that the replay needs."""

    @property
    def is_full(self) -> bool:
        """Return whether the collected messages exceed the limits of a replay."""
        return self.bytes > MOST_BYTES or len(self.times) > MOST_MESSAGES

    @property
    def gap_ns(self) -> float:
        """Return the mean gap between messages in nanoseconds, or 0 if there are fewer than two messages."""
        return (self.newest_ns - self.first_ns) / (self.seen - 1) if self.seen > 1 else 0.0

    def add(self, time_ns: int, size: int, number: int, end_ns: int) -> None:
        """Count a message, and collect it if its time is before `end_ns`."""
        self.seen += 1
        self.first_ns, self.newest_ns = min(time_ns, self.first_ns), max(time_ns, self.newest_ns)
        if time_ns >= end_ns:
            self.next_ns = min(time_ns, self.next_ns)
        elif not self.is_full:
            self.times.append(time_ns)
            self.sizes.append(size)
            self.numbers.append(number)
            self.bytes += size


class Segment:
    """The messages between two clock jumps."""

    def __init__(self, spans_ns: Mapping[str, int]) -> None:
        self.spans_ns, self.span_ns = spans_ns, max(spans_ns.values())
        self.tracks = {topic: Track() for topic in spans_ns}
        self.start_ns, self.newest_ns = MOST_NS, -1

    @property
    def length_ns(self) -> int:
        """Return the segment's duration in nanoseconds, which is negative if the segment is empty."""
        return self.newest_ns - self.start_ns if self.newest_ns >= 0 else -1

    @property
    def is_enough(self) -> bool:
        """Return whether the segment is at least as long as the replay."""
        return self.length_ns >= self.span_ns

    @property
    def message_count(self) -> int:
        """Return the number of messages in the segment."""
        return sum(track.seen for track in self.tracks.values())

    @property
    def used_tracks(self) -> list[tuple[str, Track]]:
        """Return each topic that has messages, with its track."""
        return [(topic, track) for topic, track in self.tracks.items() if track.seen]

    @property
    def is_whole(self) -> bool:
        """Return whether the segment is shorter than the replay, so that all its messages were collected."""
        return self.length_ns < self.span_ns

    @property
    def period_ns(self) -> float:
        """Return the loop period of the segment in nanoseconds; all topics share this period.

        The period is the segment's duration plus the smallest mean gap between messages of a topic.
        """
        gaps = [track.gap_ns for track in self.tracks.values() if track.gap_ns]
        return self.length_ns + (min(gaps) if gaps else self.length_ns / max(1, self.message_count - 1))

    def continues_with(self, topic: str, time_ns: int) -> bool:
        """Return whether a message continues the segment without a clock jump."""
        if self.newest_ns < 0:
            return True
        is_forward = time_ns <= self.newest_ns + max(SILENCE_NS, self.span_ns)
        return is_forward and time_ns >= self.tracks[topic].newest_ns - SORTABLE_NS

    def begins_after(self, time_ns: int) -> bool:
        """Return whether a message with the timestamp `time_ns` precedes the segment."""
        return time_ns < self.start_ns - SORTABLE_NS and self.newest_ns >= 0

    def add(self, topic: str, time_ns: int, size: int, number: int) -> None:
        """Add a message. `number` is the position of the message among all messages of its topic in the recording."""
        self.start_ns, self.newest_ns = min(time_ns, self.start_ns), max(time_ns, self.newest_ns)
        self.tracks[topic].add(time_ns, size, number, self.start_ns + self.spans_ns[topic])

    def add_all(self, other: Segment) -> None:
        """Add all messages of a later segment. The later segment must be shorter than the replay, so that all its
        messages were collected."""
        for topic, track in other.tracks.items():
            for time_ns, size, number in zip(track.times, track.sizes, track.numbers, strict=True):
                self.add(topic, time_ns, size, number)

    def has_passed(self, topic: str) -> bool:
        """Return whether the replay needs no further messages of a topic."""
        return self.tracks[topic].newest_ns >= self.start_ns + self.span_ns + SORTABLE_NS


def duration(nanoseconds: float) -> str:
    """Format a duration, which may be years: `12.3 s`, `5 h`, `56.9 years`."""
    for unit, seconds in (("years", 31_556_952), ("days", 86_400), ("h", 3600), ("min", 60)):
        if nanoseconds >= 2e9 * seconds:
            return f"{nanoseconds / 1e9 / seconds:,.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def messages(many: int) -> str:
    """Format a number of messages: `1 message`, `3 messages`."""
    return f"{many:,} message{'' if many == 1 else 's'}"
