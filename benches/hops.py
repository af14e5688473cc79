"""Measure the instrument's cost per hop in Python against a bare ping-pong over pyzmq or a socket.

The cost is half the difference of both round trips, with both processes on one core. The bench prints the cost in
microseconds and its budget.
"""

from __future__ import annotations

from functools import partial

from ending import orderly
from ours import hopmeter
from pairs import ROUNDS, Comparison, pair_rounds, print_comparisons, sequential
from programs import python_number

CORE = 1
FRAME_BYTES = 64
MOST_US = 5.0
SCENARIO = """
title = "Round trips"
question = "What does a round trip cost?"
transport = "{kind}"
language = "python"
placement = "process"
wait = "block"
cores = "{core}"
payload = "bytes:{payload}"
touch = "none"
pace = "closed"
relays = 1
messages = {rounds}
warmup = 200
trials = 1
drain = "20ms"
"""


def hopmeter_us(kind: str) -> float:
    """Return hopmeter's median round trip, in microseconds."""
    (row,) = hopmeter(SCENARIO.format(kind=kind, payload=FRAME_BYTES - 64, rounds=ROUNDS[FRAME_BYTES], core=CORE))
    return float(row["roundtrip_p50_us"])


def bare_us(kind: str) -> float:
    """Return the bare program's median round trip, in microseconds."""
    return python_number("hops.py", kind, FRAME_BYTES, ROUNDS[FRAME_BYTES], CORE)


def main() -> int:
    """Measure pairs, each with one run of hopmeter and one run of the bare program."""
    found: dict[str, Comparison] = {}
    for index in pair_rounds(found.values()):
        for kind in ("zeromq", "unix"):
            ours, theirs = sequential(index, partial(hopmeter_us, kind), partial(bare_us, kind))
            name = f"{kind} (python), {FRAME_BYTES} B, a hop more than bare"
            found.setdefault(name, Comparison(name, 1.0)).add((ours - theirs) / 2, MOST_US)
            whole = f"{kind} (python), {FRAME_BYTES} B, round trip"
            found.setdefault(whole, Comparison(whole, None)).add(ours, theirs)
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
