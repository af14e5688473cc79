"""How a thread spent its time, from readings of its counters. docs/method.md defines the parts."""

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
    """What a thread did at the time of a reading."""

    SEND = 0
    SENT = 1
    ARRIVED = 2
    DONE = 3


class Use(IntEnum):
    """What a thread does with its time: while it waits for a message, or while it acts on one."""

    ASLEEP = 0
    RUNNING = 1
    STOLEN = 2
    """On its core, and neither running nor asleep: the hypervisor or an interrupt has the core."""
    QUEUED = 3
    """Runnable, while another thread has the core."""
    ACTING = 4
    """Running for a message."""
    ACTING_ASLEEP = 5


STEPS = 4
"""The pieces into which the time between two readings is divided."""


class ThreadTime:
    """The time of one endpoint's thread, as functions of time that only grow.

    Between two readings only sums are known. A waiting thread is taken to sleep first, then to run, and to wait for a
    core last; an acting thread does everything evenly.
    """

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self._at = np.maximum.accumulate(readings["at_ns"]).astype(np.float64) if len(readings) else np.zeros(0)

    @cached_property
    def has_queue(self) -> bool:
        """Return whether the kernel counts how long the thread waits for a core."""
        return bool((self._readings["queued_ns"] != NONE_NS).all())

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        """Return asleep, running, stolen and queued time of each interval; all zero if the thread changed."""
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
        """Return the knots, and the time of each use until each knot."""
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
        """Return the time of each use between two times, a row for each message; zero where nothing is known."""
        knots, curves = self._curves
        end = np.maximum(start, end)
        return np.stack([np.interp(end, knots, each) - np.interp(start, knots, each) for each in curves.T], axis=1)

    def times_of(self, mark: Mark, messages: int) -> Times:
        """Return when the thread reached a point, by message; NONE_NS if it did not."""
        chosen = self._readings[self._readings["mark"] == mark]
        out = np.full(messages, NONE_NS)
        known = chosen["seq"] < messages
        out[chosen["seq"][known][::-1]] = chosen["at_ns"][known][::-1]
        return out

    def faults(self, name: str, messages: int) -> Numbers:
        """Return the page faults for each message."""
        out = np.zeros(messages)
        seqs, counts = self._readings["seq"][1:], np.diff(self._readings[name].astype(np.int64))
        same = (np.diff(self._readings["thread"].astype(np.int64)) == 0) & (seqs < messages)
        np.add.at(out, seqs[same].astype(np.int64), counts[same])
        return out


def _even(sums: Numbers) -> Numbers:
    """Return what an acting thread does in each of the equal steps."""
    asleep, running, stolen, queued = (sums[:, use] / STEPS for use in range(STEPS))
    nothing = np.zeros(len(sums))
    return np.stack([nothing, nothing, stolen, queued, running, asleep], axis=1)
