"""memory, called, at 1000 Hz, against a bare direct call with the same two clock readings and one record.

The clock of some guests steps by a third of what a call takes, so that a median is one step or the next: on both sides
each time stands for all within half a step.
"""

from __future__ import annotations

from ending import orderly
from ours import hopmeter
from pairs import Comparison, in_turn, told, until_told
from programs import Program, number

DIRECT_CALL = Program("direct_call.c")
CORE = 1
MESSAGES = 400
SCENARIO = """
title = "A call"
question = "What does a callback within one process cost?"
transport = "memory"
language = ["rust", "c++"]
placement = "thread"
wait = "callback"
cores = "{core}"
payload = ["timing", "bytes:1000000"]
touch = "none"
rate = 1000
messages = {messages}
warmup = 50
trials = 1
"""


def main() -> int:
    """The size does not matter, so one bare figure serves both."""
    found: dict[str, Comparison] = {}
    for index in until_told(found.values()):
        rows, peer = in_turn(
            index,
            lambda: hopmeter(SCENARIO.format(core=CORE, messages=MESSAGES), smeared="service"),
            lambda: number(DIRECT_CALL, MESSAGES, 1000, CORE) / 1000,
        )
        for row in rows:
            name = f"memory ({row['language']}), {row['frame_bytes']:,} B, call"
            found.setdefault(name, Comparison(name, 1.2)).add(row["smeared_us"], peer)
    return told(found.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
