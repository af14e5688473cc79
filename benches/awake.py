"""Keep cores awake during a bench, because waking a sleeping core would add the hypervisor's delay to the results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BOUND = Path("/dev/cpu_dma_latency")
"""The device file that limits the cores' wake-up latency while it is open."""


@contextmanager
def awake() -> Iterator[None]:
    """Limit the cores' wake-up latency to 0 µs inside the `with` block; print a warning if the system forbids the
    limit."""
    try:
        held = BOUND.open("wb", buffering=0)
    except OSError as refused:
        print(f"idle cores may sleep meanwhile: {refused}", file=sys.stderr)
        yield
        return
    with held:
        held.write(bytes(4))
        yield
