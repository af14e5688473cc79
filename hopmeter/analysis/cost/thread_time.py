"""Compute how a thread spent its time from readings of its counters. docs/method.md defines the states."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Times
from hopmeter.store.samples import NONE_NS
from hopmeter.store.why_folder import Readings

Numbers = NDArray[np.float64]


class Mark(IntEnum):
    """The point in handling a message at which a thread reads its counters."""

    SEND = 0
    SENT = 1
    ARRIVED = 2
    DONE = 3


class Use(IntEnum):
    """What a thread does at a given time, such as sleeping or waiting for a core."""

    ASLEEP = 0
    RUNNING = 1
    STOLEN = 2
    """The thread neither runs nor sleeps, because the hypervisor or an interrupt uses its core."""
    QUEUED = 3
    """The thread is runnable, but another thread uses the core."""
    ACTING = 4
    """The thread runs and handles a message."""
    ACTING_ASLEEP = 5


STEPS = 4
"""The number of steps into which the model divides each interval between two readings."""


class ThreadTime:
    """The time that an endpoint's thread spent in each state, as cumulative functions of time.

    Only the total time per state between two readings is known. The model assumes that a waiting thread first sleeps,
    then runs and then waits for a core. For a thread that handles a message, the model spreads the states evenly over
    the interval.
    """

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self._at = np.maximum.accumulate(readings["at_ns"]).astype(np.float64) if len(readings) else np.zeros(0)

    @cached_property
    def has_queue(self) -> bool:
        """Return whether the kernel counts how long this thread waits for a core."""
        return bool((self._readings["queued_ns"] != NONE_NS).all())

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        """Return how long the thread was asleep, running, deprived of its core, and queued for a core, for each
        interval between readings. All times of an interval are zero if its two readings come from different threads."""
        spans = np.diff(self._at)
        running = np.clip(np.diff(self._readings["cpu_ns"]), 0, spans)
        queued = np.diff(self._readings["queued_ns"]) if self.has_queue else np.zeros(len(spans))
        queued = np.clip(queued, 0, spans - running)
        rest = spans - running - queued
        slept = np.diff(self._readings["voluntary_switches"].astype(np.int64)) > 0
        sums = np.stack([np.where(slept, rest, 0), running, np.where(slept, 0, rest), queued], axis=1)
        sums[np.diff(self._readings["thread"].astype(np.int64)) != 0] = 0
        return sums

    @cached_property
    def _curves(self) -> tuple[Numbers, Numbers]:
        """Return the start and end times of all model steps, and the cumulative time in each state at these times."""
        if len(self._at) < 2:
            return np.zeros(1), np.zeros((1, len(Use)))
        acting = np.isin(self._readings["mark"][1:], (Mark.SENT, Mark.DONE))
        steps = np.zeros((len(acting), STEPS, len(Use)))
        for use in range(STEPS):
            steps[:, use, use] = self._sums[:, use]
        steps[acting] = _even(self._sums[acting])[:, None, :]
        lengths = steps.sum(axis=2)
        lost = np.diff(self._at) - lengths.sum(axis=1)
        lengths += lost[:, None] / STEPS
        knots = self._at[0] + np.concatenate([[0], lengths.reshape(-1).cumsum()])
        return knots, np.concatenate([np.zeros((1, len(Use))), steps.reshape(-1, len(Use)).cumsum(axis=0)])

    def between(self, start: Times, end: Times) -> Numbers:
        """Return the time that the thread spent in each state between `start` and `end`, with one row per message. The
        time before the first reading and after the last reading counts as zero."""
        knots, curves = self._curves
        end = np.maximum(start, end)
        return np.stack([np.interp(end, knots, each) - np.interp(start, knots, each) for each in curves.T], axis=1)

    def times_of(self, mark: Mark, messages: int) -> Times:
        """Return when the thread reached a mark for each message, or NONE_NS for messages for which the thread did not
        reach the mark."""
        chosen = self._readings[self._readings["mark"] == mark]
        out = np.full(messages, NONE_NS)
        known = chosen["seq"] < messages
        out[chosen["seq"][known][::-1]] = chosen["at_ns"][known][::-1]
        return out

    def faults(self, name: str, messages: int) -> Numbers:
        """Return the number of page faults for each message. `name` is the name of the counter: minor or major page
        faults."""
        out = np.zeros(messages)
        seqs, counts = self._readings["seq"][1:], np.diff(self._readings[name].astype(np.int64))
        same = (np.diff(self._readings["thread"].astype(np.int64)) == 0) & (seqs < messages)
        np.add.at(out, seqs[same].astype(np.int64), counts[same])
        return out


def _even(sums: Numbers) -> Numbers:
    """For intervals in which a thread handles a message, return the time in each state during one model step."""
    asleep, running, stolen, queued = (sums[:, use] / STEPS for use in range(STEPS))
    nothing = np.zeros(len(sums))
    return np.stack([nothing, nothing, stolen, queued, running, asleep], axis=1)
