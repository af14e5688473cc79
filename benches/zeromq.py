"""ZeroMQ in C++ against its own latency test, written to its definition in C: round trips, each end on a core of its
own; both on one core are told.
"""

from __future__ import annotations

import tempfile
from itertools import product

from ending import orderly
from ours import hopmeter
from pairs import Comparison, told, until_told
from programs import APART, TOGETHER, Program, number

REQREP = Program("reqrep.c", ("zmq",))
LIMITS = {APART: 1.05, TOGETHER: None}
ROUNDS = {64: 3000, 1_000_000: 300}
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
endpoint = ["ipc", "tcp"]
"""


def their_endpoint(kind: str, folder: str) -> str:
    """A port that the operating system hands out to nobody else by itself."""
    return f"ipc://{folder}/bench" if kind == "ipc" else "tcp://127.0.0.1:27491"


def pair(found: dict[str, Comparison], cores: str, frame_bytes: int, rounds: int) -> None:
    """One of each endpoint. Rows name the endpoint in `profile` only where it is not the default, ipc."""
    rows = hopmeter(SCENARIO.format(cores=cores, payload=frame_bytes - 64, rounds=rounds))
    for row in (row for row in rows if row["transport"] == "zeromq"):
        kind = "tcp" if "tcp" in row["profile"] else "ipc"
        with tempfile.TemporaryDirectory() as folder:
            peer = number(REQREP, their_endpoint(kind, folder), frame_bytes, rounds, cores)
        place = ", one core" if cores == TOGETHER else ""
        name = f"zeromq (c++), {kind}, {frame_bytes:,} B{place}, round trip"
        found.setdefault(name, Comparison(name, LIMITS[cores])).add(row["roundtrip_p50_us"], peer / 1000)


def main() -> int:
    """Ten pairs of every endpoint, place and size."""
    found: dict[str, Comparison] = {}
    for _ in until_told(found.values()):
        for cores, (frame_bytes, rounds) in product(LIMITS, ROUNDS.items()):
            pair(found, cores, frame_bytes, rounds)
    return told(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
