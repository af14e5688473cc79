"""Keeps the launcher off the measured cores, if this machine also has unmeasured cores."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator


@contextlib.contextmanager
def aside(measured: Iterable[int]) -> Iterator[None]:
    """Run the calling thread on unmeasured cores inside the `with` block. Start other processes before the `with`
    block, because a new process inherits the CPU affinity of the thread that starts it."""
    allowed = os.sched_getaffinity(0)
    others = allowed - set(measured)
    if not others:
        yield
        return
    os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
