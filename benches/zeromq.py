"""Measures round trips of ZeroMQ in C++ against a C program that follows ZeroMQ's own latency test, each process on its
own core.

Round trips with both processes on one core are only reported.
"""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import product

from ending import orderly
from ours import hopmeter
from pairs import ROUNDS, Comparison, in_turn, pair_rounds, print_comparisons
from programs import APART, TOGETHER, Program, number

REQREP = Program("reqrep.c", ("zmq",))
LIMITS = {APART: 1.05, TOGETHER: None}
KINDS = ("ipc", "tcp")
SCENARIO = """
title = "Round trips"
question = "What does a round trip of ZeroMQ cost?"
transport = "zeromq"
language = "c++"
placement = "process"
pattern = "rpc"
wait = "block"
cores = "{cores}"
payload = "bytes:{payload}"
touch = "none"
pace = "closed"
messages = {rounds}
warmup = 100
trials = 1
drain = "20ms"
[settings.zeromq]
endpoint = "{endpoint}"
"""


def name(kind: str, cores: str, frame_bytes: int) -> str:
    """Return the name in the table."""
    place = ", one core" if cores == TOGETHER else ""
    return f"zeromq (c++), {kind}, {frame_bytes:,} B{place}, round trip"


def their_endpoint(kind: str, folder: str) -> str:
    """Return an endpoint with a free port."""
    return f"ipc://{folder}/bench" if kind == "ipc" else "tcp://127.0.0.1:27491"


def theirs(kind: str, cores: str, frame_bytes: int) -> float:
    """Return the microseconds of the latency test."""
    with tempfile.TemporaryDirectory() as folder:
        return number(REQREP, their_endpoint(kind, folder), frame_bytes, ROUNDS[frame_bytes], cores) / 1000


def ours(kind: str, cores: str, frame_bytes: int) -> float:
    """Return the microseconds of hopmeter's calls."""
    words = {"endpoint": kind, "cores": cores, "payload": frame_bytes - 64, "rounds": ROUNDS[frame_bytes]}
    (row,) = hopmeter(SCENARIO.format(**words))
    return float(row["roundtrip_p50_us"])


def main() -> int:
    """Measure ten pairs of every endpoint, placement and size."""
    found = {each: Comparison(name(*each), LIMITS[each[1]]) for each in product(KINDS, LIMITS, ROUNDS)}
    for index in pair_rounds(found.values()):
        for each, comparison in found.items():
            if comparison.wants_more:
                comparison.add(*in_turn(index, partial(ours, *each), partial(theirs, *each)))
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
