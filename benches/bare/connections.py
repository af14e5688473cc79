"""Make calls between two Python processes over a multiprocessing `Listener` and `Client`, and print the median round
trip in ns.

`connections.py BYTES ROUNDS CORES KIND`: CORES is `A` or `A,B`, as in bare.py. With KIND `connection`, the connection
carries the frames. With `shared_memory`, the frames are in slots of a `SharedMemory` segment, and the connection
carries the frames' lengths. Like hopmeter's nodes, both processes write and read headers and store times, and the
server copies the request into its reply.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from itertools import count
from multiprocessing.connection import Client, Connection, Listener
from multiprocessing.shared_memory import SharedMemory
from pipes import HEADER, RUN, read_numbers

import bare

LENGTH = struct.Struct("<Q")
SLOTS = 16

Frame = memoryview | bytes
Write, Read = Callable[[int, int, Frame], None], Callable[[], Frame]
"""`Write` sends a frame with a message number, a due time and, unless it is empty, the content of another frame. `Read`
receives a frame and returns it."""


def write_frame(frame: memoryview, seq: int, due_ns: int, content: Frame) -> None:
    if content:
        frame[:] = content
    HEADER.pack_into(frame, 0, RUN, seq, due_ns, time.monotonic_ns())


def over_connection(connection: Connection, frame: bytes) -> tuple[Write, Read]:
    buffer = memoryview(bytearray(frame))

    def write(seq: int, due_ns: int, content: Frame) -> None:
        write_frame(buffer, seq, due_ns, content)
        connection.send_bytes(buffer)

    return write, connection.recv_bytes


def over_memory(connection: Connection, frame: bytes, out: memoryview, into: memoryview) -> tuple[Write, Read]:
    """Return functions that write frames into the slots `out` and read frames from the slots `into`."""
    length, sent, received = len(frame), count(), count()

    def slot(memory: memoryview, number: int, size: int) -> memoryview:
        start = number % SLOTS * length
        return memory[start : start + size]

    def write(seq: int, due_ns: int, content: Frame) -> None:
        write_frame(slot(out, next(sent), length), seq, due_ns, content)
        connection.send_bytes(LENGTH.pack(length))

    def read() -> memoryview:
        (size,) = LENGTH.unpack(connection.recv_bytes())
        return slot(into, next(received), size)

    return write, read


def answer(write: Write, read: Read) -> None:
    """Reply to requests until this process is terminated."""
    kept: list[tuple[int, int, int]] = []
    while True:
        frame = read()
        arrived_ns = time.monotonic_ns()
        seq, due_ns, _ = read_numbers(frame)
        write(seq, due_ns, frame)
        kept.append((seq, arrived_ns, time.monotonic_ns()))


def median_ns(write: Write, read: Read, length: int, rounds: int) -> int:
    """Return the median round trip in ns, measured from the send time of the request."""
    numbers = count()
    kept: list[tuple[int, int, int]] = []

    def call() -> int:
        seq, sent_ns = next(numbers), time.monotonic_ns()
        write(seq, sent_ns, b"")
        frame = read()
        arrived_ns = time.monotonic_ns()
        came_seq, due_ns, _ = read_numbers(frame)
        assert (came_seq, due_ns, len(frame)) == (seq, sent_ns, length), "the reply belongs to another request"
        kept.append((seq, sent_ns, arrived_ns))
        return arrived_ns - sent_ns

    return bare.median_ns(call, rounds)


def main(frame: bytes, rounds: int, cores: str, kind: str) -> None:
    bare.pin(cores)
    half = SLOTS * len(frame)
    segment = SharedMemory(create=True, size=2 * half)
    requests, replies = segment.buf[:half], segment.buf[half:]

    def ends(connection: Connection, out: memoryview, into: memoryview) -> tuple[Write, Read]:
        if kind == "connection":
            return over_connection(connection, frame)
        return over_memory(connection, frame, out, into)

    key = os.urandom(32)
    with Listener(family="AF_UNIX", authkey=key) as listener:
        child = bare.other_process(cores)
        if child == 0:
            answer(*ends(Client(listener.address, authkey=key), replies, requests))
        try:
            with listener.accept() as connection:
                print(median_ns(*ends(connection, requests, replies), len(frame), rounds))
        finally:
            bare.end(child)
            requests.release()
            replies.release()
            segment.close()
            segment.unlink()


if __name__ == "__main__":
    main(os.urandom(int(sys.argv[1])), int(sys.argv[2]), *sys.argv[3:])
