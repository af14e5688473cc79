"""Write raw thread-reading files as nodes do (instrument/src/thread_log.rs), from hand-made steps."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SEND, SENT, ARRIVED, DONE = range(4)
HEAD = struct.Struct("<8sIIIIQQ24x")
READING = struct.Struct("<QqqqIIIIIIQ")
NONE = -(2**63)


@dataclass(frozen=True)
class Step:
    """A thread reading, given by the counter increments since the previous reading."""

    seq: int
    mark: int
    at_us: float
    running_us: float = 0
    queued_us: float | None = 0
    slept: bool = False
    faults: int = 0
    thread: int = 1


def write_readings(path: Path, endpoint: int, steps: Sequence[Step]) -> Path:
    """Write a file of thread readings. If `queued_us` is None, the kernel did not count the time spent waiting for a
    core."""
    cpu = queued = faults = slept = 0
    content = HEAD.pack(b"HMTHREAD", 1, READING.size, endpoint, 0, len(steps), 0)
    for step in steps:
        cpu += round(1000 * step.running_us)
        queued += round(1000 * (step.queued_us or 0))
        faults += step.faults
        slept += step.slept
        waited = NONE if step.queued_us is None else queued
        times = (round(1000 * step.at_us), cpu, waited)
        content += READING.pack(step.seq, *times, step.thread, step.mark, faults, 0, slept, 0, 0)
    path.write_bytes(content)
    return path
