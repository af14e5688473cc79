"""Measures unix and tcp in every language against a bare ping-pong in C: closed round trips, on one core and on two.

The limit applies to the bare program that does the work of a ring; for the plainest program the ratio is only reported.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

from ending import orderly
from ours import hopmeter
from pairs import ROUNDS, Comparison, in_turn, pair_rounds, print_comparisons
from programs import APART, TOGETHER, Program, number

PINGPONG = Program("pingpong.c")
KINDS = ("unix", "tcp")
PINNED = {"one core": TOGETHER, "two cores": APART}
LIMITS = {"rust": 1.05, "c++": 1.05, "python": None}
SCENARIO = """
title = "Round trips"
question = "What does a round trip cost?"
transport = "{kind}"
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


def ours(kind: str, cores: str, frame_bytes: int) -> list[dict[str, Any]]:
    """Return a result row for each language."""
    payload, rounds = frame_bytes - 64, ROUNDS[frame_bytes]
    return hopmeter(SCENARIO.format(kind=kind, cores=cores, payload=payload, rounds=rounds))


def theirs(kind: str, cores: str, frame_bytes: int) -> dict[str, float]:
    """Return the microseconds of the bare program, by its mode."""
    rounds = ROUNDS[frame_bytes]
    return {way: number(PINGPONG, kind, way, frame_bytes, rounds, cores) / 1000 for way in ("alike", "plain")}


def add(found: dict[str, Comparison], place: str, row: dict[str, Any], peers: dict[str, float]) -> None:
    """Add a pair to each of the two comparisons of a row."""
    name = f"{row['transport']} ({row['language']}), {row['frame_bytes']:,} B, {place}"
    for way, limit, against in (("alike", LIMITS[row["language"]], ""), ("plain", None, ", plainest")):
        found.setdefault(name + against, Comparison(name + against, limit)).add(row["roundtrip_p50_us"], peers[way])


def main() -> int:
    """Measure pairs: each pair is one run of hopmeter in all languages and one of the bare program in each mode."""
    found: dict[str, Comparison] = {}
    for index in pair_rounds(found.values()):
        for kind, (place, cores), frame_bytes in product(KINDS, PINNED.items(), ROUNDS):
            asked = (kind, cores, frame_bytes)
            rows, peers = in_turn(index, partial(ours, *asked), partial(theirs, *asked))
            for row in rows:
                add(found, place, row, peers)
    return print_comparisons(found[key] for key in sorted(found))


if __name__ == "__main__":
    raise SystemExit(orderly(main))
