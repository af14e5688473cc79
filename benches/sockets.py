"""unix and tcp in every language against a bare ping-pong in C: round trips, both ends on one core, closed loop.

The limit holds against a program that does what a ring has to do; against the plainest one the ratio is told.
"""

from __future__ import annotations

from typing import Any

from pairs import PAIRS, Comparison, bare, hopmeter, told

CORE = 1
ROUNDS = {64: 3000, 1_000_000: 300}
LIMITS = {"rust": 1.05, "c++": 1.05, "python": None}
SCENARIO = """
title = "Round trips"
question = "What does a round trip cost?"
transport = ["unix", "tcp"]
language = "each"
placement = "process"
wait = "block"
cores = "{core}"
payload = "bytes:{payload}"
touch = "none"
pace = "closed"
relays = 1
messages = {rounds}
warmup = 100
trials = 1
"""


def named(row: dict[str, Any], way: str) -> Comparison:
    """The comparison that a row belongs to."""
    against = "" if way == "alike" else ", against the plainest"
    name = f"{row['transport']} ({row['language']}), {row['frame_bytes']:,} B{against}"
    return Comparison(name, LIMITS[row["language"]] if way == "alike" else None)


def main() -> int:
    """Every pair is one run of hopmeter over all cells and one of the bare program for each of them."""
    found: dict[tuple[str, str, int, str], Comparison] = {}
    for _ in range(PAIRS):
        for frame_bytes, rounds in ROUNDS.items():
            rows = hopmeter(SCENARIO.format(core=CORE, payload=frame_bytes - 64, rounds=rounds))
            peers = {
                (kind, way): bare("pingpong", kind, frame_bytes, rounds, CORE, way) / 1000
                for kind in ("unix", "tcp")
                for way in ("alike", "plain")
            }
            for row in rows:
                for (kind, way), peer in peers.items():
                    if kind == row["transport"]:
                        comparison = found.setdefault((kind, row["language"], frame_bytes, way), named(row, way))
                        comparison.add(row["roundtrip_p50_us"], peer)
    return told(found[key] for key in sorted(found))


if __name__ == "__main__":
    raise SystemExit(main())
