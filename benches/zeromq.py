"""ZeroMQ in C++ against its own latency test, written to its definition in C: round trips, both ends on one core."""

from __future__ import annotations

import tempfile

from pairs import PAIRS, Comparison, bare, hopmeter, told

CORE = 1
FRAME_BYTES = 64
ROUNDS = 3000
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
[settings.zeromq]
endpoint = ["ipc", "tcp"]
"""


def their_endpoint(kind: str, folder: str) -> str:
    """A port that the operating system hands out to nobody else by itself."""
    return f"ipc://{folder}/bench" if kind == "ipc" else "tcp://127.0.0.1:27491"


def main() -> int:
    """Rows name the endpoint in `profile` only where it is not the default, ipc."""
    found = {kind: Comparison(f"zeromq (c++), {kind}, {FRAME_BYTES} B, round trip", 1.05) for kind in ("ipc", "tcp")}
    for _ in range(PAIRS):
        rows = hopmeter(SCENARIO.format(core=CORE, payload=FRAME_BYTES - 64, rounds=ROUNDS))
        for row in (row for row in rows if row["transport"] == "zeromq"):
            kind = "tcp" if "tcp" in row["profile"] else "ipc"
            with tempfile.TemporaryDirectory() as folder:
                peer = bare("reqrep", their_endpoint(kind, folder), FRAME_BYTES, ROUNDS, CORE, library="zmq")
            found[kind].add(row["roundtrip_p50_us"], peer / 1000)
    return told(found.values())


if __name__ == "__main__":
    raise SystemExit(main())
