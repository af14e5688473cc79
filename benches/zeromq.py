"""ZeroMQ in C++ against its own latency test, written to its definition in C: round trips, both ends on one core."""

from __future__ import annotations

import tempfile

from ending import orderly
from ours import hopmeter
from pairs import PAIRS, Comparison, told
from programs import Program, number

REQREP = Program("reqrep.c", ("zmq",))
CORE = 1
ROUNDS = {64: 3000, 1_000_000: 300}
SCENARIO = """
title = "Round trips"
question = "What does a round trip of ZeroMQ cost?"
transport = "zeromq"
language = "c++"
placement = "process"
pattern = "rpc"
wait = "block"
cores = "{core}"
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


def pair(found: dict[str, Comparison], frame_bytes: int, rounds: int) -> None:
    """One of each endpoint. Rows name the endpoint in `profile` only where it is not the default, ipc."""
    rows = hopmeter(SCENARIO.format(core=CORE, payload=frame_bytes - 64, rounds=rounds))
    for row in (row for row in rows if row["transport"] == "zeromq"):
        kind = "tcp" if "tcp" in row["profile"] else "ipc"
        with tempfile.TemporaryDirectory() as folder:
            peer = number(REQREP, their_endpoint(kind, folder), frame_bytes, rounds, CORE)
        name = f"zeromq (c++), {kind}, {frame_bytes:,} B, round trip"
        found.setdefault(name, Comparison(name, 1.05)).add(row["roundtrip_p50_us"], peer / 1000)


def main() -> int:
    """Ten pairs of every endpoint and size."""
    found: dict[str, Comparison] = {}
    for _ in range(PAIRS):
        for frame_bytes, rounds in ROUNDS.items():
            pair(found, frame_bytes, rounds)
    return told(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
