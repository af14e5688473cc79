"""Measures the ring of the shm transport alone, against iceoryx2 (spinning, two cores) and against a bare futex
(blocking, one core)."""

from __future__ import annotations

from ending import Run, orderly
from pairs import PAIRS
from programs import Crate

MOST_S = 600


def main() -> int:
    """Compare with the programs of benches/rust/shm."""
    with Run() as run:
        return run.start([*Crate("shm").command, str(PAIRS)]).wait(timeout=MOST_S)


if __name__ == "__main__":
    raise SystemExit(orderly(main))
