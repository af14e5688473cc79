"""Selects the part of a recording to replay.

The selection handles recordings whose clock was set during the recording, and recordings whose messages are stored out
of order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hopmeter.recordings.message import Message
from hopmeter.recordings.segments import MOST_NS, SILENCE_NS, SORTABLE_NS, Segment, Track, duration, messages

Integers = NDArray[np.int64]
MOST_SEGMENTS = 10_000
LEAST_RUN = 4
"""The minimum average length, in messages, of runs from one segment, if messages are merely stored out of order."""
NO_TIMES = np.array([], np.int64)


class DisorderError(Exception):
    """Raised if the timestamps of a recording jump too often to be sorted."""


class Parts:
    """The parts of a recording between its clock jumps. The replay uses the first part that is long enough.

    If no part is long enough, the replay uses the part with the most messages.
    """

    def __init__(self, spans_ns: Mapping[str, int]) -> None:
        self.seen: Counter[str] = Counter(dict.fromkeys(spans_ns, 0))
        self.untimed: Counter[str] = Counter()
        """The number of messages without a valid time, by topic."""
        self.early: Counter[str] = Counter()
        """The number of messages that precede the replayed part but were stored after its beginning, by topic."""
        self._zeros: dict[str, tuple[int, int]] = {}
        self._segments = [Segment(spans_ns)]

    @property
    def _now(self) -> Segment:
        return self._segments[-1]

    def add(self, message: Message) -> None:
        """Add a message. Raises DisorderError if the messages' timestamps jump too often."""
        number = self.seen[message.topic]
        self.seen[message.topic] += 1
        if 0 < message.time_ns < MOST_NS:
            self._add_timed(message, number)
        else:
            self._add_untimed(message, number)

    def is_over(self, message: Message) -> bool:
        """Return whether the part before `message` is long enough for the replay and ends with a clock jump."""
        is_timed = 0 < message.time_ns < MOST_NS
        return is_timed and self._now.is_enough and not self._now.continues_with(message.topic, message.time_ns)

    def needs(self, topic: str) -> bool:
        """Return whether a later message of a topic may belong to the replay."""
        return not self._now.has_passed(topic)

    def _add_timed(self, message: Message, number: int) -> None:
        topic, time_ns, now = message.topic, message.time_ns, self._now
        if time_ns <= SORTABLE_NS:
            self._keep_zeros()
        self._zeros.clear()
        if now.is_enough and now.begins_after(time_ns):
            self.early[topic] += 1
            return
        if now.begins_after(time_ns) or not now.continues_with(topic, time_ns):
            self._begin()
        self._now.add(topic, time_ns, len(message.data), number)

    def _begin(self) -> None:
        if len(self._segments) == MOST_SEGMENTS:
            raise DisorderError(f"its timestamps go back or jump {MOST_SEGMENTS:,} times")
        self._segments.append(Segment(self._now.spans_ns))

    def _add_untimed(self, message: Message, number: int) -> None:
        """Count a message without a valid time.

        Time 0 is valid only for a clock that starts at 0. If the clock starts at 0, the time 0 occurs at most once per
        topic, and the next message follows within a second.
        """
        topic, now = message.topic, self._now
        self.untimed[topic] += 1
        if message.time_ns == 0 and not now.tracks[topic].seen and self.untimed[topic] == 1:
            if now.newest_ns < 0:
                self._zeros[topic] = len(message.data), number
            elif now.start_ns <= SORTABLE_NS:
                self._add_zero(topic, len(message.data), number)

    def _keep_zeros(self) -> None:
        if all(self.untimed[topic] == 1 for topic in self._zeros):
            for topic, (size, number) in self._zeros.items():
                self._add_zero(topic, size, number)
            self._zeros.clear()

    def _add_zero(self, topic: str, size: int, number: int) -> None:
        self._now.add(topic, 0, size, number)
        self.untimed[topic] = 0

    def choose(self) -> Choice:
        """Return the part to replay. Call this method after all messages have been added."""
        self._keep_zeros()
        found = self._segments if self._now.is_enough else _join(self._segments)
        best = max(found, key=lambda each: (each.is_enough, each.message_count, each.length_ns))
        place = found.index(best)
        return Choice(best, found[:place], found[place + 1 :])


class Choice:
    """The part of a recording that the replay uses, and the parts that were recorded before and after it."""

    def __init__(self, segment: Segment, before: Sequence[Segment], after: Sequence[Segment]) -> None:
        self.segment, self._before, self._after = segment, before, after

    def left_out(self, topic: str) -> Iterator[str]:
        """Yield how many messages of a topic are omitted because the clock jumped."""
        if before := sum(part.tracks[topic].seen for part in self._before):
            yield f"{messages(before)} before the clock jumped {_jump(self._before[-1], self.segment)}"
        if after := sum(part.tracks[topic].seen for part in self._after):
            yield f"{messages(after)} after the clock jumped {_jump(self.segment, self._after[0])}"


def _jump(old: Segment, new: Segment) -> str:
    if new.start_ns >= old.newest_ns:
        return f"forward by {duration(new.start_ns - old.newest_ns)}"
    return f"back by {duration(old.newest_ns - new.start_ns)}"


def _join(segments: Sequence[Segment]) -> list[Segment]:
    """Join segments that were merely stored out of order.

    Return the resulting parts in recording order; clock jumps separate the parts.
    """
    laps: list[_Lap] = []
    for place, segment in enumerate(segments):
        if not laps or not laps[-1].fits(segment):
            laps.append(_Lap())
        laps[-1].add(place, segment)
    parts = dict(part for lap in laps for part in lap.join())
    return [parts[place] for place in sorted(parts)]


class _Lap:
    """A group of segments without a clock jump between them, although their messages were stored out of order."""

    def __init__(self) -> None:
        self._segments: list[tuple[int, Segment]] = []
        self._times: dict[str, Integers] = {}
        """The times of each topic, in ascending order."""

    def fits(self, segment: Segment) -> bool:
        """Return whether a segment may belong to this group of segments. The messages of the segment and of the group,
        merged in chronological order, must form long runs for each topic.

        If the clock was set back before the segment, the merged messages alternate in short runs.
        """
        shared = [(self._times[topic], _times(track)) for topic, track in segment.used_tracks if topic in self._times]
        if not shared:
            return True
        ours, others = (np.sort(np.concatenate(each)) for each in zip(*shared, strict=True))
        begin, end = max(ours[0], others[0]), min(ours[-1], others[-1])
        both = [each[(each >= begin) & (each <= end)] for each in (ours, others)]
        sides = np.repeat([False, True], list(map(len, both)))[np.argsort(np.concatenate(both), kind="stable")]
        return int(np.count_nonzero(sides[1:] != sides[:-1])) * LEAST_RUN <= len(sides)

    def add(self, place: int, segment: Segment) -> None:
        """Add a segment that belongs to this group; `place` is the position of the segment among all segments."""
        self._segments.append((place, segment))
        for topic, track in segment.used_tracks:
            self._times[topic] = np.sort(np.append(self._times.get(topic, NO_TIMES), _times(track)))

    def join(self) -> Iterator[tuple[int, Segment]]:
        """Yield joined segments in chronological order, each with the position of the segment that was recorded first.

        Segments are joined unless a long silence separates them.
        """
        first, joined = 0, Segment({"": 0})
        for place, segment in sorted(self._segments, key=lambda each: each[1].start_ns):
            if segment.start_ns <= joined.newest_ns + max(SILENCE_NS, segment.span_ns) and joined.newest_ns >= 0:
                joined.add_all(segment)
                first = min(first, place)
                continue
            if joined.newest_ns >= 0:
                yield first, joined
            first, joined = place, segment
        yield first, joined


def _times(track: Track) -> Integers:
    return np.array(track.times, np.int64)
