"""Sends a frame to several servers at once over pyzmq: `frames.py FRAMES BYTES SLEEP_MS…`, with one sleep for each
server.

The client has one DEALER socket for each server, over ipc. It sends one frame to all servers without copying it, and
polls the sockets until all servers have answered. Prints the mean in microseconds from writing a frame to the last
answer.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import time

import numpy as np
import zmq

WARMUP = 3
SPUN_NS = 250_000
"""hopmeter's servers measure how late their sleeps end, and spin for at most this long."""
REPLY = bytes(64)


def serve(endpoint: str, sleep_ms: float) -> None:
    """Answer each frame after a sleep, until terminated."""
    server = zmq.Context().socket(zmq.ROUTER)
    server.bind(endpoint)
    while True:
        client, frame = server.recv_multipart(copy=False)
        due_ns = time.monotonic_ns() + round(sleep_ms * 1e6)
        time.sleep((due_ns - SPUN_NS - time.monotonic_ns()) / 1e9)
        while time.monotonic_ns() < due_ns:
            pass
        server.send_multipart([client, frame.bytes[:1] + REPLY[1:]])


def measure(servers: list[zmq.Socket[bytes]], frames: int, size: int) -> float:
    """Return the mean latency after the warm-up."""
    took = []
    poller = zmq.Poller()
    for server in servers:
        poller.register(server, zmq.POLLIN)
    pictures = [np.zeros(size, np.uint8) for _ in range(2)]  # ZeroMQ may still use the previous frame
    for number in range(WARMUP + frames):
        picture, word = pictures[number % 2], number % 251
        begun_ns = time.monotonic_ns()
        picture.fill(word)
        for server in servers:
            server.send(picture, copy=False)
        missing = len(servers)
        while missing:
            for server, _ in poller.poll():
                if server.recv()[0] != word:
                    raise SystemExit(f"frame {number} is not the frame that a server received")
                missing -= 1
        took.append(time.monotonic_ns() - begun_ns)
    return statistics.mean(took[WARMUP:]) / 1000


def main(frames: int, size: int, sleeps_ms: list[float]) -> None:
    """Measure, with child processes that serve and are always terminated."""
    children = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for index, sleep_ms in enumerate(sleeps_ms):
                children.append(os.fork())
                if not children[-1]:
                    serve(f"ipc://{folder}/{index}", sleep_ms)
            context = zmq.Context()
            servers = [context.socket(zmq.DEALER) for _ in sleeps_ms]
            for index, server in enumerate(servers):
                server.connect(f"ipc://{folder}/{index}")
            print(measure(servers, frames, size))
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [float(each) for each in sys.argv[3:]])
