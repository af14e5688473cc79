"""Measure the overhead of `hopmeter.connect` compared with hopmeter's nodes.

Both programs send the same array between two Python processes through the same adapter.
"""

from __future__ import annotations

from functools import partial

from ending import orderly
from ours import hopmeter
from pairs import Comparison, pair_rounds, print_comparisons, sequential
from programs import python_number

SIDE, MESSAGES, RATE_HZ = 200, 200, 100
SCENARIO = f"""
title = "Objects"
question = "What does an object cost between two Python processes?"
transport = "{{transport}}"
language = "python"
placement = "process"
wait = "block"
cores = "free"
pace = "open"
rate = {RATE_HZ}
messages = {MESSAGES}
codec = "numpy"
payload = "array:{SIDE}x{SIDE}"
trials = 1
"""


def connect_us(transport: str) -> float:
    """Return the median time of a program that uses `hopmeter.connect`, in microseconds."""
    return python_number("connected.py", transport, SIDE, MESSAGES, RATE_HZ)


def nodes_us(transport: str) -> float:
    """Return the median time of hopmeter's nodes, in microseconds."""
    (row,) = hopmeter(SCENARIO.format(transport=transport))
    return float(row["service_p50_us"])


def main() -> int:
    """Measure pairs and report their ratios, without a limit."""
    found: dict[str, Comparison] = {}
    for index in pair_rounds(found.values()):
        for transport in ("zeromq", "unix"):
            name = f"numpy {SIDE}x{SIDE}, {transport}, hopmeter.connect / nodes"
            ours, theirs = sequential(index, partial(connect_us, transport), partial(nodes_us, transport))
            found.setdefault(name, Comparison(name, None)).add(ours, theirs)
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
