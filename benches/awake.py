"""Cores that stay awake while a bench runs, for both sides of a pair: else it compares how a hypervisor wakes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BOUND = Path("/dev/cpu_dma_latency")
"""How long waking may take; the kernel takes the bound back with the file."""


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
