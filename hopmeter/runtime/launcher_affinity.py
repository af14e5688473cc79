"""Keeping the launcher off the cores that are measured, where there are others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator


@contextlib.contextmanager
def aside(measured: Iterable[int]) -> Iterator[None]:
    """While entered, this thread runs elsewhere; processes must be started before, since they inherit this."""
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
