"""Helpers for the bare programs in Python: core pinning, forking and medians."""

from __future__ import annotations

import ctypes
import os
import signal
import statistics
from collections.abc import Callable

WARMUP = 100
PR_SET_PDEATHSIG = 1
LARGE = (32 << 20) - 8192


def keep_memory() -> None:
    """Make glibc retain the memory of freed messages, for the reason given in bare.h."""
    bytearray(LARGE)


def pin(cores: str) -> None:
    """Pin this process to the first core in `A` or `A,B`, and make glibc retain memory. Core `B` is for the other
    process."""
    keep_memory()
    os.sched_setaffinity(0, {int(cores.partition(",")[0])})


def other_process(cores: str) -> int:
    """Fork a process that ends together with this one. Return the fork's process id, or 0 in the fork.

    The fork has a separate session, like hopmeter's nodes, because the kernel may divide a core between sessions.
    """
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        os.setsid()
        os.sched_setaffinity(0, {int(cores.rpartition(",")[2])})
    return child


def end(child: int) -> None:
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)


def median_ns(round_trip: Callable[[], int], rounds: int) -> int:
    """Return the median duration of a round trip, excluding the warm-up."""
    took = [round_trip() for _ in range(WARMUP + rounds)]
    return round(statistics.median(took[WARMUP:]))
