"""multiprocessing alone, a message there and one back between two Python processes: `pipes.py KIND BYTES ROUNDS CORES`.

KIND is pipe (a `Pipe()` for each way), queue or simple_queue (two of them). What is sent is one `bytes` object, which
each of them pickles. Prints the median round trip in ns. CORES as in bare.py.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from multiprocessing import Pipe
from typing import Any

import bare

Way = tuple[Callable[[bytes], None], Callable[[], bytes]]
"""How a message is sent, and how it is received at the other end."""


def opened(kind: str) -> Way:
    """A fresh pipe or queue, which both processes inherit."""
    if kind == "pipe":
        out, into = Pipe()
        return out.send, into.recv
    line: Any = multiprocessing.Queue() if kind == "queue" else multiprocessing.SimpleQueue()
    return line.put, line.get


def pass_on(there: Way, back: Way) -> None:
    """What the other process does, until it is ended."""
    receive, send = there[1], back[0]
    while True:
        send(receive())


def median_ns(there: Way, back: Way, frame: bytes, rounds: int) -> int:
    """Whether it is the same that came back is looked at once the clock was read."""
    send, receive = there[0], back[1]

    def round_trip() -> int:
        begun_ns = time.monotonic_ns()
        send(frame)
        came = receive()
        took_ns = time.monotonic_ns() - begun_ns
        if came != frame:
            raise SystemExit("what came back is not what was sent")
        return took_ns

    return bare.median_ns(round_trip, rounds)


def main(kind: str, frame: bytes, rounds: int, cores: str) -> None:
    """The other process is ended whatever happens."""
    bare.pin(cores)
    there, back = opened(kind), opened(kind)
    child = bare.other_process(cores)
    if child == 0:
        pass_on(there, back)
    try:
        print(median_ns(there, back, frame, rounds))
    finally:
        bare.end(child)


if __name__ == "__main__":
    main(sys.argv[1], os.urandom(int(sys.argv[2])), int(sys.argv[3]), sys.argv[4])
