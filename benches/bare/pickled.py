"""Send an array to a second Python process and back with pyzmq's `send_pyobj`.

Usage: `pickled.py MESSAGES SHAPE`, such as `60 1000,2000,3` (bytes). Prints the median round trip in microseconds. The
client runs on core 0 and the server on core 1, over ipc. Neither process changes glibc's memory settings, because few
programs do.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import numpy as np
import zmq
from bare import end, other_process

WARMUP = 10


def serve(endpoint: str) -> None:
    """Send back each array until this process is terminated."""
    server = zmq.Context().socket(zmq.REP)
    server.bind(endpoint)
    while True:
        server.send_pyobj(server.recv_pyobj())


def median_us(client: zmq.Socket[bytes], messages: int, shape: tuple[int, ...]) -> float:
    """Return the median round trip in microseconds, excluding the warm-up; each array has different content."""
    array, took_ns = np.zeros(shape, np.uint8), []
    for number in range(WARMUP + messages):
        array.fill(number % 251)
        begun_ns = time.monotonic_ns()
        client.send_pyobj(array)
        back = client.recv_pyobj()
        took_ns.append(time.monotonic_ns() - begun_ns)
        if not np.array_equal(back, array):
            raise SystemExit("what came back is not what was sent")
    return float(np.median(took_ns[WARMUP:])) / 1000


def main(messages: int, shape: tuple[int, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        endpoint = f"ipc://{folder}/echo"
        child = other_process("0,1")
        if not child:
            serve(endpoint)
        os.sched_setaffinity(0, {0})
        try:
            client = zmq.Context().socket(zmq.REQ)
            client.connect(endpoint)
            print(median_us(client, messages, shape))
        finally:
            end(child)


if __name__ == "__main__":
    main(int(sys.argv[1]), tuple(map(int, sys.argv[2].split(","))))
