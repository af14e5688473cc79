"""What the instrument adds to a hop in Python: a ring of hopmeter's against a bare ping-pong of pyzmq or a socket.

Half the difference of the round trips, both ends on one core, in microseconds beside its budget.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ending import Run, orderly
from ours import hopmeter
from pairs import Comparison, told, until_told
from programs import PATIENCE_S

BARE = Path(__file__).with_name("bare") / "hops.py"
CORE = 1
FRAME_BYTES, ROUNDS = 64, 3000
MOST_US = 5.0
SCENARIO = f"""
title = "Round trips"
question = "What does a round trip cost?"
transport = ["zeromq", "unix"]
language = "python"
placement = "process"
wait = "block"
cores = "{CORE}"
payload = "bytes:{FRAME_BYTES - 64}"
touch = "none"
pace = "closed"
relays = 1
messages = {ROUNDS}
warmup = 200
trials = 1
drain = "20ms"
"""


def bare_us(kind: str) -> float:
    """The median round trip of the bare program."""
    command = [sys.executable, str(BARE), kind, str(FRAME_BYTES), str(ROUNDS), str(CORE)]
    with Run() as run:
        done = run.said(command, PATIENCE_S)
        done.check_returncode()
        return float(done.stdout)


def main() -> int:
    """Every pair is one run of hopmeter over both and one of each bare program."""
    found: dict[str, Comparison] = {}
    for _ in until_told(found.values()):
        for row in (row for row in hopmeter(SCENARIO) if row["transport"] in ("zeromq", "unix")):
            ours, theirs = row["roundtrip_p50_us"], bare_us(row["transport"])
            name = f"{row['transport']} (python), {FRAME_BYTES} B, a hop more than bare"
            found.setdefault(name, Comparison(name, 1.0)).add((ours - theirs) / 2, MOST_US)
            whole = f"{row['transport']} (python), {FRAME_BYTES} B, round trip"
            found.setdefault(whole, Comparison(whole, None)).add(ours, theirs)
    return told(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
