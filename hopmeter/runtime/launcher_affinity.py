"""Keep the launcher off the measured cores, if there are others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator


@contextlib.contextmanager
def aside(measured: Iterable[int]) -> Iterator[None]:
    """Run this thread on other cores inside the `with` block. Start processes before, because they inherit its
    affinity."""
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
