"""Measure the instrument's own cost: recording one message with two timestamps may take at most 80 ns."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from ending import orderly

from hopmeter import _instrument

LIMIT_NS = 80.0
TIMES = 10


def main() -> int:
    """Fail only if the fastest measurement exceeds the limit, because noise only ever adds time."""
    with tempfile.TemporaryDirectory() as folder:
        costs = sorted(_instrument.recording_cost(Path(folder))["message_ns"] for _ in range(TIMES))
    held = costs[0] <= LIMIT_NS
    spread = f"{statistics.median(costs):.1f} ns [{costs[0]:.1f}, {costs[-1]:.1f}]"
    print(f"recording a message: {spread}   limit {LIMIT_NS:g}: {'holds' if held else 'MISSED'}")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
