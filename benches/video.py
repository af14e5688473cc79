"""Frames to three servers at once that take 30, 40 and 50 ms: the mean of a frame, zeromq in Python and shm, against
a budget; how much of it is the way and not the servers is told.
"""

from __future__ import annotations

from ending import orderly
from ours import hopmeter
from pairs import PAIRS, Comparison, told

MOST_US = 50_500.0
WORK = "sleep:30ms/40ms/50ms"
SCENARIO = f"""
title = "Frames to three servers"
question = "How long until all three have answered?"
transport = ["zeromq", "shm"]
language = "python"
pattern = "scatter"
placement = "process"
wait = "block"
cores = "free"
payload = "image:640x480"
reply = "header"
pace = "closed"
sinks = 3
work = "{WORK}"
messages = 25
warmup = 3
trials = 1
"""


def main() -> int:
    """Every pair is one run of both transports beside the budget."""
    found: dict[str, Comparison] = {}
    for _ in range(PAIRS):
        for row in (row for row in hopmeter(SCENARIO) if row["transport"] in ("zeromq", "shm")):
            name = f"{row['transport']} (python), frame to 30/40/50 ms, mean"
            found.setdefault(name, Comparison(name, 1.0)).add(row["gather_mean_us"], MOST_US)
            over = f"{row['transport']} (python), overhead / ideal"
            found.setdefault(over, Comparison(over, None)).add(row["overhead_mean_us"], row["ideal_us"])
    return told(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
