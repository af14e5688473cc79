"""Sends frames to three servers at once that take 30, 40 and 50 ms, over zeromq in Python and over shm, against a
budget.

Prints the mean time of a frame, its part beyond the work of the servers, and the mean of pyzmq without hopmeter.
"""

from __future__ import annotations

from ending import orderly
from ours import hopmeter
from pairs import Comparison, pair_rounds, print_comparisons
from pool import FRAMES, HEIGHT, SLEEPS_MS, WIDTH, scenario
from programs import python_number

MOST_US = 50_500.0


def add_ours(found: dict[str, Comparison]) -> None:
    for row in (row for row in hopmeter(scenario("zeromq", "shm")) if row["transport"] in ("zeromq", "shm")):
        name = f"{row['transport']} (python), frame to 30/40/50 ms, mean"
        found.setdefault(name, Comparison(name, 1.0)).add(row["gather_mean_us"], MOST_US)
        over = f"{row['transport']} (python), overhead / ideal"
        found.setdefault(over, Comparison(over, None)).add(row["overhead_mean_us"], row["ideal_us"])


def add_bare(found: dict[str, Comparison]) -> None:
    name = "bare pyzmq, frame to 30/40/50 ms, mean"
    took_us = python_number("frames.py", FRAMES, WIDTH * HEIGHT * 3, *SLEEPS_MS)
    found.setdefault(name, Comparison(name, None)).add(took_us, MOST_US)


def main() -> int:
    """Measure pairs: each pair is one run of both transports and one of the bare program, against the budget."""
    found: dict[str, Comparison] = {}
    for _ in pair_rounds(found.values()):
        add_ours(found)
        add_bare(found)
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
