"""Keep cores awake during a bench; otherwise it would measure how the hypervisor wakes cores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BOUND = Path("/dev/cpu_dma_latency")
"""The device that limits the wake-up latency until the file is closed."""


@contextmanager
def awake() -> Iterator[None]:
    """Limit the wake-up latency to 0 µs inside the `with` block; print a warning if the system forbids it."""
    try:
        held = BOUND.open("wb", buffering=0)
    except OSError as refused:
        print(f"idle cores may sleep meanwhile: {refused}", file=sys.stderr)
        yield
        return
    with held:
        held.write(bytes(4))
        yield
