"""Counts system calls and context switches of a round trip of 64 B, through hopmeter and through its peer; noise
affects little except futexes.

`counting.py [TRANSPORT ...]`: counts with perf all bare programs of `peers.py`, or those of some transports. The start,
the broker and the end cost the same in a short and in a long run, so the difference between the two runs is reported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ending import Run, orderly
from ours import hopmeter
from pairs import ROUNDS
from rows import ROWS, Row
from tools import Bare

FRAME_BYTES = 64
SHORT, LONG = 200, 2200
EVENTS = {
    "system calls": "raw_syscalls:sys_enter",
    "switches": "context-switches",
    "woken": "sched:sched_wakeup",
    **{
        name: f"syscalls:sys_enter_{name}"
        for name in ("futex", "read", "write", "readv", "poll", "ppoll", "epoll_wait")
    },
    **{name: f"syscalls:sys_enter_{name}" for name in ("sendto", "recvfrom", "sendmsg", "recvmsg")},
}
LEAST = 0.1
"""Events that are rarer than this are not reported."""
GRACE_S, MOST_S = 20.0, 300.0
"""The time for the counted process to end its own programs, and the time for the whole count."""

Counts = dict[str, float]


def one(row: Row, end: str, rounds: int) -> int:
    """Count the instructions of `rounds` round trips through hopmeter or the peer's program."""
    if end == "theirs":
        row.peer.median_us(row.cores, FRAME_BYTES, rounds)
    else:
        asked = row.scenario(FRAME_BYTES)
        hopmeter(asked.replace(f"messages = {ROUNDS[FRAME_BYTES]}", f"messages = {rounds}"))
    return 0


def count_events(number: int, end: str, rounds: int) -> Counts:
    """Count the events of a new process that runs `one`, and of its children."""
    with Run(GRACE_S) as run:
        told = Path(run.directory) / "counts"
        command = ["perf", "stat", "-x,", "-o", str(told), "-e", ",".join(EVENTS.values()), "--"]
        again = [sys.executable, __file__, "--one", str(number), end, str(rounds)]
        run.capture([*command, *again], MOST_S).check_returncode()
        lines = [line.split(",") for line in told.read_text().splitlines() if "," in line]
    found = {fields[2]: float(fields[0]) for fields in lines if fields[0].isdigit()}
    return {name: found.get(event, 0.0) for name, event in EVENTS.items()}


def of_a_round(number: int, end: str) -> Counts:
    """Return the difference between a long and a short run, per round trip."""
    short, long = (count_events(number, end, rounds) for rounds in (SHORT, LONG))
    return {name: (long[name] - short[name]) / (LONG - SHORT) for name in EVENTS}


def main(asked: Sequence[str]) -> int:
    """Report both counts, row by row, without a verdict."""
    for number, row in enumerate(ROWS):
        if not isinstance(row.peer, Bare) or FRAME_BYTES not in row.sizes or (asked and row.transport not in asked):
            continue
        one(row, "theirs", SHORT)  # builds the program if necessary
        ours, theirs = of_a_round(number, "ours"), of_a_round(number, "theirs")
        print(row.name(FRAME_BYTES))
        for name in EVENTS:
            if max(ours[name], theirs[name]) >= LEAST:
                print(f"  {name:12}  hopmeter {ours[name]:6.2f}   bare {theirs[name]:6.2f}", flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        raise SystemExit(orderly(lambda: one(ROWS[int(sys.argv[2])], sys.argv[3], int(sys.argv[4]))))
    raise SystemExit(orderly(lambda: main(sys.argv[1:])))
