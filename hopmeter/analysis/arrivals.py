"""What arrived at one place: first copies, duplicates, order. Definitions stand in docs/metrics.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopmeter.store.samples import NONE_NS

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """The arrivals at one place as they were recorded, in the order in which they came."""

    seqs: Times
    messages: int
    """How many messages were offered to the transport, so their seqs are below this."""

    @cached_property
    def is_recorded(self) -> NDArray[np.bool_] | None:
        """Which of them are of messages that the source recorded; None where all are."""
        inside = (self.seqs >= 0) & (self.seqs < self.messages)
        return None if bool(inside.all()) else inside

    @cached_property
    def _seqs(self) -> Times:
        return self.seqs if self.is_recorded is None else self.seqs[self.is_recorded]

    @cached_property
    def _tidy(self) -> bool:
        """Whether nothing came twice or late, which is the ordinary case and the cheap one."""
        return len(self._seqs) < 2 or bool((np.diff(self._seqs) > 0).all())

    @cached_property
    def _first(self) -> NDArray[np.bool_]:
        """Which arrivals are the first copy of their message."""
        places = np.arange(len(self._seqs))
        earliest = np.full(self.messages, -1)
        earliest[self._seqs[::-1]] = places[::-1]  # of equal seqs the one written last stays: the first to come
        firsts: NDArray[np.bool_] = earliest[self._seqs] == places
        return firsts

    @property
    def stray(self) -> int:
        """Arrivals of messages that the source has no record of."""
        return 0 if self.is_recorded is None else int((~self.is_recorded).sum())

    @property
    def received_count(self) -> int:
        """Messages that came at least once."""
        return len(self._seqs) if self._tidy else int(self._first.sum())

    @property
    def duplicate_count(self) -> int:
        """Arrivals beyond the first of their message."""
        return len(self._seqs) - self.received_count

    @property
    def reordered_count(self) -> int:
        """First copies that came after one with a higher seq (RFC 4737, Type-P-Reordered)."""
        if self._tidy:
            return 0
        firsts = self._seqs[self._first]
        return int((firsts < np.maximum.accumulate(firsts)).sum())

    def by_message(self, times: Times) -> Times:
        """A time of each arrival as a time of each message: that of the first copy, NONE_NS where none came."""
        times = times if self.is_recorded is None else times[self.is_recorded]
        if self._tidy and len(times) == self.messages:
            return times
        out = np.full(self.messages, NONE_NS)
        out[self._seqs[::-1]] = times[::-1]
        return out


def minus(end: Times, start: Times) -> Times:
    """The times from start to end of those messages that have both."""
    both = (end != NONE_NS) & (start != NONE_NS)
    return end - start if bool(both.all()) else end[both] - start[both]


def latest(times: list[Times]) -> Times:
    """The last of several times of each message; NONE_NS where one is missing."""
    if len(times) == 1:
        return times[0]
    missing = np.logical_or.reduce([each == NONE_NS for each in times])
    last: Times = np.maximum.reduce(times)
    last[missing] = NONE_NS
    return last


def earliest(times: list[Times]) -> Times:
    """The first of several times of each message; NONE_NS where one is missing."""
    return times[0] if len(times) == 1 else np.minimum.reduce(times)


def preferring(wanted: Times, otherwise: Times) -> Times:
    """The wanted time where there is one."""
    return np.where(wanted != NONE_NS, wanted, otherwise)
