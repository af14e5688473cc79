"""Send a message between two Python processes through one multiprocessing `Pipe()`, and back through another.

`pipes.py BYTES ROUNDS CORES WAY` prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.py. With WAY
`alike`, both processes do a node's work: they create a new `bytes` object per message, read its header and store its
times. With WAY `plain`, the program sends the same message in every round trip and stores no times.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from itertools import count
from multiprocessing import Pipe

import bare

HEADER = struct.Struct("<QQqq")
"""The message header: run, message number, due time and send time."""
RUN = 0x686F706D65746572

Send, Receive = Callable[[bytes], None], Callable[[], bytes]


def pass_on(receive: Receive, send: Send) -> None:
    """Send frames back until this process is terminated."""
    while True:
        send(receive())


def pass_on_alike(receive: Receive, send: Send) -> None:
    """Send frames back and store their times, like a node, until this process is terminated."""
    kept: list[tuple[int, int, int]] = []
    while True:
        frame = receive()
        arrived_ns = time.monotonic_ns()
        seq = read_numbers(frame)[0]
        forwarded_ns = time.monotonic_ns()
        send(frame)
        kept.append((seq, arrived_ns, forwarded_ns))


def median_ns(send: Send, receive: Receive, frame: bytes, rounds: int) -> int:
    """Return the median round trip in ns; replies are compared outside the measured time."""

    def round_trip() -> int:
        begun_ns = time.monotonic_ns()
        send(frame)
        came = receive()
        took_ns = time.monotonic_ns() - begun_ns
        assert came == frame, "what came back is not what was sent"
        return took_ns

    return bare.median_ns(round_trip, rounds)


def median_alike_ns(send: Send, receive: Receive, frame: bytes, rounds: int) -> int:
    """Return the median round trip in ns, measured from the send time in the header."""
    buffer, wanted = bytearray(frame), count()
    kept: list[tuple[int, int, int, int]] = []

    def round_trip() -> int:
        due_ns = time.monotonic_ns()
        HEADER.pack_into(buffer, 0, RUN, seq := next(wanted), due_ns, time.monotonic_ns())
        send(bytes(buffer))
        came = receive()
        arrived_ns = time.monotonic_ns()
        came_seq, due_ns, sent_ns = read_numbers(came)
        assert (came_seq, len(came)) == (seq, len(frame)), "what came back is not what was sent"
        kept.append((seq, due_ns, sent_ns, arrived_ns))
        return arrived_ns - sent_ns

    return bare.median_ns(round_trip, rounds)


def read_numbers(frame: bytes) -> tuple[int, int, int]:
    run, seq, due_ns, sent_ns = HEADER.unpack_from(frame)
    assert run == RUN, "the message belongs to another run"
    return seq, due_ns, sent_ns


def main(frame: bytes, rounds: int, cores: str, way: str) -> None:
    bare.pin(cores)
    (out, into), (back_out, back_into) = Pipe(), Pipe()
    answer, measure = {"plain": (pass_on, median_ns), "alike": (pass_on_alike, median_alike_ns)}[way]
    child = bare.other_process(cores)
    if child == 0:
        answer(into.recv, back_out.send)
    try:
        print(measure(out.send, back_into.recv, frame, rounds))
    finally:
        bare.end(child)


if __name__ == "__main__":
    main(os.urandom(int(sys.argv[1])), int(sys.argv[2]), *sys.argv[3:])
