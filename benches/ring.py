"""Compare a hop over the shm transport's ring with iceoryx2 and with a bare futex, using benches/rust/shm.

The comparison with iceoryx2 spins on two cores; the comparison with the futex blocks on one core.
"""

from __future__ import annotations

from functools import partial

from ending import orderly
from pairs import Comparison, pair_rounds, print_comparisons, sequential
from programs import Crate, number

IMAGE_BYTES = 1440 * 1080 * 3
"""The size of the camera image in the studies."""
SPINNING, BLOCKING = (("ring", 200_000), ("iceoryx2", 100_000)), (("ring-blocking", 50_000), ("futex", 50_000))
"""The two programs of each comparison, hopmeter's first, each with its number of round trips."""


def hop_ns(frame_bytes: int, way: str, rounds: int) -> float:
    """Return the time of one hop in nanoseconds."""
    return number(Crate("shm"), "hop", way, frame_bytes, rounds)


def main() -> int:
    """Measure pairs; each measurement starts two new processes."""
    found = {
        (64, SPINNING): Comparison("spin, two cores, 64 B, a hop / iceoryx2", 1.0, "ns"),
        (IMAGE_BYTES, SPINNING): Comparison(f"spin, two cores, {IMAGE_BYTES:,} B, a hop / iceoryx2", 1.0, "ns"),
        (64, BLOCKING): Comparison("block, one core, 64 B, a hop / a bare futex", 1.3, "ns"),
    }
    for index in pair_rounds(found.values()):
        for (frame_bytes, (ours, theirs)), each in found.items():
            each.add(*sequential(index, partial(hop_ns, frame_bytes, *ours), partial(hop_ns, frame_bytes, *theirs)))
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
