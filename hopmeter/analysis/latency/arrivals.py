"""Identify first copies, duplicates and reordered messages among the arrivals at an endpoint. docs/metrics.md defines
these terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopmeter.store.samples import NONE_NS

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """The arrivals at one endpoint, in recording order."""

    seqs: Times
    messages: int
    """The number of messages that were offered to the transport. Every valid sequence number is less than the number of
    messages."""

    @cached_property
    def is_recorded(self) -> NDArray[np.bool_] | None:
        """Return a mask of the arrivals whose messages the source recorded, or None if all arrivals belong to recorded
        messages."""
        inside = (self.seqs >= 0) & (self.seqs < self.messages)
        return None if bool(inside.all()) else inside

    @cached_property
    def _seqs(self) -> Times:
        return self.seqs if self.is_recorded is None else self.seqs[self.is_recorded]

    @cached_property
    def _tidy(self) -> bool:
        """Return whether all arrivals are in order and without duplicates: the usual case, which is cheap to
        process."""
        return len(self._seqs) < 2 or bool((np.diff(self._seqs) > 0).all())

    @cached_property
    def _first(self) -> NDArray[np.bool_]:
        """Return a mask of the arrivals that are the first copy of their message."""
        places = np.arange(len(self._seqs))
        earliest = np.full(self.messages, -1)
        # In reverse order, so that the first arrival of a message overwrites later ones.
        earliest[self._seqs[::-1]] = places[::-1]
        firsts: NDArray[np.bool_] = earliest[self._seqs] == places
        return firsts

    @property
    def stray(self) -> int:
        """The number of arrivals of messages that the source did not record."""
        return 0 if self.is_recorded is None else int((~self.is_recorded).sum())

    @property
    def received_count(self) -> int:
        """The number of messages that arrived at least once."""
        return len(self._seqs) if self._tidy else int(self._first.sum())

    @property
    def duplicate_count(self) -> int:
        """The number of arrivals that repeat a message that had already arrived."""
        return len(self._seqs) - self.received_count

    @property
    def reordered_count(self) -> int:
        """The number of first copies that arrived after a higher sequence number (RFC 4737, Type-P-Reordered)."""
        if self._tidy:
            return 0
        firsts = self._seqs[self._first]
        return int((firsts < np.maximum.accumulate(firsts)).sum())

    def by_message(self, times: Times) -> Times:
        """Convert an array of times per arrival to an array of times per message. Each message gets the time of its
        first copy, or NONE_NS if no copy arrived."""
        times = times if self.is_recorded is None else times[self.is_recorded]
        if self._tidy and len(times) == self.messages:
            return times
        out = np.full(self.messages, NONE_NS)
        out[self._seqs[::-1]] = times[::-1]
        return out


def minus(end: Times, start: Times) -> Times:
    """Return `end` minus `start` for the messages that have both times."""
    both = (end != NONE_NS) & (start != NONE_NS)
    return end - start if bool(both.all()) else end[both] - start[both]


def count_lost(end: Times, start: Times) -> int:
    """Count the messages that have a start time but no end time."""
    return int(((end == NONE_NS) & (start != NONE_NS)).sum())


def latest(times: list[Times]) -> Times:
    """Return each message's latest time, or NONE_NS if any of its times is missing."""
    if len(times) == 1:
        return times[0]
    missing = np.logical_or.reduce([each == NONE_NS for each in times])
    last: Times = np.maximum.reduce(times)
    last[missing] = NONE_NS
    return last


def earliest(times: list[Times]) -> Times:
    """Return each message's earliest time, or NONE_NS if any of its times is missing."""
    return times[0] if len(times) == 1 else np.minimum.reduce(times)


def preferring(wanted: Times, otherwise: Times) -> Times:
    """Return the time of each message in `wanted`, or the time in `otherwise` if the wanted time is missing."""
    return np.where(wanted != NONE_NS, wanted, otherwise)
