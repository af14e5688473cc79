"""unix and tcp in every language against a bare ping-pong in C: closed round trips, on one core and across two.

The limit holds against a program that does what a ring has to do; against the plainest one the ratio is told.
"""

from __future__ import annotations

from typing import Any

from ending import orderly
from ours import hopmeter
from pairs import Comparison, told, until_told
from programs import APART, TOGETHER, Program, number

PINGPONG = Program("pingpong.c")
PINNED = {"one core": TOGETHER, "two cores": APART}
ROUNDS = {64: 1500, 1_000_000: 100}
"""A pair is ten cells and sixteen bare programs: so few rounds that ten pairs end within five minutes."""
LIMITS = {"rust": 1.05, "c++": 1.05, "python": None}
SCENARIO = """
title = "Round trips"
question = "What does a round trip cost?"
transport = ["unix", "tcp"]
language = "each"
placement = "process"
wait = "block"
cores = "{cores}"
payload = "bytes:{payload}"
touch = "none"
pace = "closed"
relays = 1
messages = {rounds}
warmup = 100
trials = 1
drain = "20ms"
"""


def measured(cores: str, frame_bytes: int, rounds: int) -> list[dict[str, Any]]:
    """Our rows, each with what the bare programs took right after, by their way of working."""
    rows = hopmeter(SCENARIO.format(cores=cores, payload=frame_bytes - 64, rounds=rounds))
    peers = {
        (kind, way): number(PINGPONG, kind, way, frame_bytes, rounds, cores) / 1000
        for kind in ("unix", "tcp")
        for way in ("alike", "plain")
    }
    mine = [row for row in rows if row["transport"] in ("unix", "tcp")]
    return [row | {way: peers[row["transport"], way] for way in ("alike", "plain")} for row in mine]


def add(found: dict[str, Comparison], place: str, row: dict[str, Any]) -> None:
    """One pair for each of the two comparisons that a row belongs to."""
    name = f"{row['transport']} ({row['language']}), {row['frame_bytes']:,} B, {place}"
    for way, limit, against in (("alike", LIMITS[row["language"]], ""), ("plain", None, ", plainest")):
        found.setdefault(name + against, Comparison(name + against, limit)).add(row["roundtrip_p50_us"], row[way])


def main() -> int:
    """Every pair is one run of hopmeter over all cells and one of each bare program."""
    found: dict[str, Comparison] = {}
    for _ in until_told(found.values()):
        for place, cores in PINNED.items():
            for frame_bytes, rounds in ROUNDS.items():
                for row in measured(cores, frame_bytes, rounds):
                    add(found, place, row)
    return told(found[key] for key in sorted(found))


if __name__ == "__main__":
    raise SystemExit(orderly(main))
