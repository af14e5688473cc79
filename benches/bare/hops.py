"""Measure a plain ping-pong between two Python processes: `hops.py zeromq|unix BYTES ROUNDS CORE`.

`zeromq` uses a PUB and a SUB socket over ipc for each direction, like a hopmeter ring. `unix` uses one stream socket
per direction, with an eight-byte length before each frame. The program prints the median round trip in microseconds.
"""

from __future__ import annotations

import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable

import bare
import zmq

WARMUP = 200
CALLING, HEARD = b"?", b"!"
LENGTH = struct.Struct("<Q")

Send = Callable[[bytes], object]
Receive = Callable[[], bytes]


def of_zeromq(folder: str, is_parent: bool) -> tuple[Send, Receive]:
    """Open this process's sockets, and wait until both directions deliver. Return a send and a receive function."""
    mine, theirs = ("there", "back") if is_parent else ("back", "there")
    context = zmq.Context()
    out, into = context.socket(zmq.PUB), context.socket(zmq.SUB)
    out.bind(f"ipc://{folder}/{mine}")
    into.subscribe(b"")
    into.connect(f"ipc://{folder}/{theirs}")
    meet(out, into)

    def receive() -> bytes:
        while (frame := into.recv()) in (CALLING, HEARD):
            pass
        return frame

    return out.send, receive


def meet(out: zmq.Socket[bytes], into: zmq.Socket[bytes]) -> None:
    """Send messages until the other process has received one, because messages before a subscription are lost."""
    word, answered = CALLING, b""
    while answered != HEARD:
        out.send(word)
        if into.poll(10):
            word, answered = HEARD, into.recv()
    out.send(HEARD)


def of_sockets(out: socket.socket, into: socket.socket) -> tuple[Send, Receive]:
    """Return functions that send and receive a length-prefixed frame."""

    def receive() -> bytes:
        (length,) = LENGTH.unpack(into.recv(LENGTH.size, socket.MSG_WAITALL))
        return into.recv(length, socket.MSG_WAITALL)

    return lambda frame: out.sendall(LENGTH.pack(len(frame)) + frame), receive


def measure(send: Send, receive: Receive, frame: bytes, rounds: int) -> float:
    """Return the median round trip in microseconds."""
    took = []
    for _ in range(WARMUP + rounds):
        begun_ns = time.monotonic_ns()
        send(frame)
        if receive() != frame:
            raise SystemExit("what came back is not what was sent")
        took.append(time.monotonic_ns() - begun_ns)
    return statistics.median(took[WARMUP:]) / 1000


def answer(send: Send, receive: Receive) -> None:
    """Send frames back until this process is terminated."""
    while True:
        send(receive())


def main(kind: str, frame: bytes, rounds: int, core: str) -> None:
    bare.pin(core)
    there, back = socket.socketpair(), socket.socketpair()
    with tempfile.TemporaryDirectory() as folder:
        child = bare.other_process(core)
        ends = ((back[1], there[1]), (there[0], back[0]))[child != 0]
        if child == 0:
            answer(*(of_zeromq(folder, False) if kind == "zeromq" else of_sockets(*ends)))
        try:
            print(measure(*(of_zeromq(folder, True) if kind == "zeromq" else of_sockets(*ends)), frame, rounds))
        finally:
            bare.end(child)


if __name__ == "__main__":
    main(sys.argv[1], os.urandom(int(sys.argv[2])), int(sys.argv[3]), sys.argv[4])
