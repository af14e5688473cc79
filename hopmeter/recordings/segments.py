"""Split the messages of a recording where its clock was set, and collect those that a replay needs."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping

from hopmeter.recordings.message import Message
from hopmeter.recordings.streams import MOST_BYTES

MOST_MESSAGES = 1_000_000
MOST_NS = 1 << 63
SORTABLE_NS = 1_000_000_000
"""How far the times of a topic may go back. A recorder may store messages of several publishers out of order; a
longer step back means that its clock was set."""
SILENCE_NS = 3_600_000_000_000
"""How long all topics may be silent. A longer step forward means that the clock was set, unless the replay spans it."""


class Track:
    """The messages of one topic in a segment: all are counted, and those within a span are collected."""

    def __init__(self) -> None:
        self.times, self.sizes, self.numbers = array("q"), array("q"), array("q")
        self.seen = self.bytes = 0
        self.first_ns, self.newest_ns = MOST_NS, -1
        self.next_ns = MOST_NS
        """The earliest message after the span."""

    @property
    def is_full(self) -> bool:
        """Return whether the messages exceed the limits of a replay."""
        return self.bytes > MOST_BYTES or len(self.times) > MOST_MESSAGES

    @property
    def gap_ns(self) -> float:
        """Return the mean gap between messages; 0 if there is none."""
        return (self.newest_ns - self.first_ns) / (self.seen - 1) if self.seen > 1 else 0.0

    def add(self, time_ns: int, size: int, number: int, end_ns: int) -> None:
        """Count a message, and collect it if it is before an end."""
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
    """The messages between two jumps of the clock."""

    def __init__(self, spans_ns: Mapping[str, int], before: Counter[str], jump: str) -> None:
        self.spans_ns, self.span_ns = spans_ns, max(spans_ns.values())
        self.tracks = {topic: Track() for topic in spans_ns}
        self.start_ns, self.newest_ns = MOST_NS, -1
        self.before, self.jump = before, jump
        """How many messages of each topic are before this segment, and how the clock jumped to its beginning."""
        self.next_jump = ""

    @property
    def length_ns(self) -> int:
        """Return how long the segment lasts; negative if it is empty."""
        return self.newest_ns - self.start_ns if self.newest_ns >= 0 else -1

    @property
    def is_enough(self) -> bool:
        """Return whether the segment lasts as long as the replay."""
        return self.length_ns >= self.span_ns

    @property
    def message_count(self) -> int:
        """Return how many messages the segment has."""
        return sum(track.seen for track in self.tracks.values())

    @property
    def is_whole(self) -> bool:
        """Return whether every topic ends within the replay."""
        return self.length_ns < self.span_ns

    @property
    def period_ns(self) -> float:
        """Return the time after which all topics repeat: the smallest mean gap of a topic follows the last message."""
        gaps = [track.gap_ns for track in self.tracks.values() if track.gap_ns]
        return self.length_ns + (min(gaps) if gaps else self.length_ns / max(1, self.message_count - 1))

    def jump_to(self, topic: str, time_ns: int) -> str:
        """Describe how the clock jumped before a message; empty if it did not."""
        back_ns = self.tracks[topic].newest_ns - time_ns
        if back_ns > SORTABLE_NS:
            return f"back by {duration(back_ns)}"
        forward_ns = time_ns - self.newest_ns
        return (
            f"forward by {duration(forward_ns)}"
            if self.message_count and forward_ns > max(SILENCE_NS, self.span_ns)
            else ""
        )

    def add(self, message: Message, number: int) -> None:
        """Add a message, the n-th of its topic in the recording."""
        self.start_ns, self.newest_ns = min(message.time_ns, self.start_ns), max(message.time_ns, self.newest_ns)
        end_ns = self.start_ns + self.spans_ns[message.topic]
        self.tracks[message.topic].add(message.time_ns, len(message.data), number, end_ns)

    def has_passed(self, topic: str) -> bool:
        """Return whether no later message of a topic can belong to the replay."""
        return self.tracks[topic].newest_ns >= self.start_ns + self.span_ns + SORTABLE_NS


class Segments:
    """The segment of a recording that is replayed: the first that lasts long enough, or the one with most messages."""

    def __init__(self, spans_ns: Mapping[str, int]) -> None:
        self.seen: Counter[str] = Counter(dict.fromkeys(spans_ns, 0))
        self.untimed: Counter[str] = Counter()
        """The messages without a time."""
        self._zeros: dict[str, tuple[Message, int]] = {}
        self._now = self._best = Segment(spans_ns, Counter(), "")

    @property
    def best(self) -> Segment:
        """Return the segment that is replayed, after all messages were added."""
        self._keep_zeros()
        return max((self._best, self._now), key=lambda each: (each.is_enough, each.message_count, each.length_ns))

    def add(self, message: Message) -> None:
        """Add a message."""
        number = self.seen[message.topic]
        self.seen[message.topic] += 1
        if 0 < message.time_ns < MOST_NS:
            self._add_timed(message, number)
        else:
            self._add_untimed(message, number)

    def is_over(self, message: Message) -> bool:
        """Return whether the clock jumped before this message, and the replay needs no message after that."""
        is_timed = 0 < message.time_ns < MOST_NS
        return is_timed and self._now.is_enough and bool(self._now.jump_to(message.topic, message.time_ns))

    def needs(self, topic: str) -> bool:
        """Return whether a later message of a topic may belong to the replay."""
        return not self._now.has_passed(topic)

    def _begin(self, jump: str) -> None:
        before = Counter(self._now.before)
        before.update({topic: track.seen for topic, track in self._now.tracks.items()})
        self._now.next_jump = jump
        self._best, self._now = self.best, Segment(self._now.spans_ns, before, jump)

    def _add_timed(self, message: Message, number: int) -> None:
        if message.time_ns <= SORTABLE_NS:
            self._keep_zeros()
        self._zeros.clear()
        if jump := self._now.jump_to(message.topic, message.time_ns):
            self._begin(jump)
        self._now.add(message, number)

    def _add_untimed(self, message: Message, number: int) -> None:
        """Count a message without a time. Time 0 is one if a clock begins with it: a topic has it once at most,
        and the next time follows within a second."""
        self.untimed[message.topic] += 1
        track = self._now.tracks[message.topic]
        if message.time_ns == 0 and not track.seen and self.untimed[message.topic] == 1:
            if self._now.newest_ns < 0:
                self._zeros[message.topic] = message, number
            elif self._now.start_ns <= SORTABLE_NS:
                self._now.add(message, number)
                self.untimed[message.topic] = 0

    def _keep_zeros(self) -> None:
        if any(self.untimed[topic] > 1 for topic in self._zeros):
            return
        for topic, (message, number) in self._zeros.items():
            self._now.add(message, number)
            self.untimed[topic] = 0
        self._zeros.clear()


def duration(nanoseconds: float) -> str:
    """Format a duration that may be years: `12.3 s`, `5 h`, `56.9 years`."""
    for unit, seconds in (("years", 31_556_952), ("days", 86_400), ("h", 3600), ("min", 60)):
        if nanoseconds >= 2e9 * seconds:
            return f"{nanoseconds / 1e9 / seconds:,.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"
