"""Compare a chain of 20 hopmeter relays in one process with a chain of plain zenoh relays (benches/rust/zenoh).

Both chains use callbacks at 1000 Hz. The limit applies to the bare program whose relays do the same work as hopmeter's
relays. The ratio to plain relays is only reported.
"""

from __future__ import annotations

from ending import orderly
from ours import hopmeter
from pairs import Comparison, pair_rounds, print_comparisons, sequential
from programs import Crate, number

CORE = 1
RELAYS = 20
MESSAGES = 1000
RATE_HZ = 1000
SCENARIO = """
title = "A chain"
question = "What does each hop cost?"
transport = "zenoh"
language = "rust"
placement = "thread"
wait = "callback"
cores = "{core}"
payload = "bytes:0"
touch = "none"
relays = {relays}
rate = {rate_hz}
messages = {messages}
warmup = 50
trials = 1
"""


def ours() -> float:
    """Return the time of one hop through hopmeter, in microseconds."""
    rows = hopmeter(SCENARIO.format(core=CORE, relays=RELAYS, messages=MESSAGES, rate_hz=RATE_HZ))
    return next(float(row["chain_per_hop_p50_us"]) for row in rows if row["transport"] == "zenoh")


def theirs() -> dict[str, float]:
    """Return the time of one hop in microseconds for each mode of the bare program."""
    return {way: number(Crate("zenoh"), RELAYS, MESSAGES, RATE_HZ, CORE, way) / 1000 for way in ("alike", "plain")}


def main() -> int:
    name = f"zenoh (rust), {RELAYS} relays, 64 B, per hop"
    found = {"alike": Comparison(name, 1.1), "plain": Comparison(f"{name}, plainest", None)}
    for index in pair_rounds(found.values()):
        mine, peers = sequential(index, ours, theirs)
        for way, each in found.items():
            each.add(mine, peers[way])
    return print_comparisons(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
