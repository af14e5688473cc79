"""Send frames to three concurrent workers that take 30, 40 and 50 ms, so no frame takes less than 50 ms.

The bench compares `queue` in shared memory and `shm` in Python with a multiprocessing.Pool over a shared NumPy array.
The bench also compares `shm` and `zeromq` with a budget.
"""

from __future__ import annotations

from ending import orderly
from ours import hopmeter
from pairs import Comparison, pair_rounds, print_comparisons, sequential
from programs import python_number

FRAMES, WIDTH, HEIGHT = 25, 640, 480
SLEEPS_MS = (30, 40, 50)
LIMIT = 1.02
"""The limit in milliseconds: a frame may take at most 1 ms longer than the bare pool's 50 ms, because both programs
mostly sleep."""
MOST_US = 50_500.0
"""The budget for the mean time of a frame, in microseconds."""
SCENARIO = f"""
title = "Frames to three workers"
question = "How long until all three have answered?"
transport = ["queue", "shm", "zeromq"]
language = "python"
pattern = "scatter"
placement = "process"
wait = "block"
cores = "free"
payload = "image:{WIDTH}x{HEIGHT}"
reply = "header"
pace = "closed"
sinks = {len(SLEEPS_MS)}
work = "sleep:{"/".join(f"{each}ms" for each in SLEEPS_MS)}"
messages = {FRAMES}
warmup = 3
trials = 1
settings.queue.kind = "shared_memory"
"""


def pool_us() -> float:
    """Return the bare program's median, in microseconds."""
    return python_number("pool.py", FRAMES, WIDTH, HEIGHT, *SLEEPS_MS)


def main() -> int:
    """Measure pairs, each with one run of all transports and one run of the pool."""
    found: dict[str, Comparison] = {}
    for index in pair_rounds(found.values()):
        rows, bare_us = sequential(index, lambda: hopmeter(SCENARIO), pool_us)
        for row in rows:
            name = f"{row['transport']} (python), frame to three workers"
            if row["transport"] != "zeromq":
                found.setdefault(name, Comparison(name, LIMIT)).add(row["gather_p50_us"], bare_us)
            if row["transport"] != "queue":
                mean = f"{name}, mean / budget"
                found.setdefault(mean, Comparison(mean, 1.0)).add(row["gather_mean_us"], MOST_US)
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
