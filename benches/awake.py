"""Keeps cores awake while a bench runs, for hopmeter and for its peer; otherwise the bench would measure how the
hypervisor wakes cores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BOUND = Path("/dev/cpu_dma_latency")
"""The bound on wake-up latency; the kernel removes it when the file is closed."""


@contextmanager
def awake() -> Iterator[None]:
    """Hold the wake-up latency bound at 0 us, if the system allows it."""
    try:
        held = BOUND.open("wb", buffering=0)
    except OSError as refused:
        print(f"idle cores may sleep meanwhile: {refused}", file=sys.stderr)
        yield
        return
    with held:
        held.write(bytes(4))
        yield
