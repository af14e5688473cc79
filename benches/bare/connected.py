"""Send arrays through `hopmeter.connect` to another process: `connected.py TRANSPORT SIDE MESSAGES RATE`.

Prints the median time in microseconds from the call of `send` until `receive` has returned the array.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection

import numpy as np

import hopmeter

HELLO = "hello"
PATIENCE_S = 20


def receive(transport: str, folder: str, count: int, pipe: Connection) -> None:
    came: list[int] = []
    with hopmeter.connect(transport, folder=folder) as session:
        arrays, is_ready = session.subscriber("arrays"), False
        while len(came) < count:
            if isinstance(arrays.receive(timeout_s=PATIENCE_S), np.ndarray):
                came.append(time.monotonic_ns())
            elif not is_ready:
                is_ready = True
                pipe.send(HELLO)
    pipe.send(came)


def send(transport: str, folder: str, array: np.ndarray, count: int, rate_hz: float, pipe: Connection) -> list[int]:
    """Send greetings until the other process answers, then send the arrays at their due times. Return the time in ns
    from the sending to the arrival of each array."""
    sent: list[int] = []
    with hopmeter.connect(transport, folder=folder, largest_bytes=array.nbytes + 4096) as session:
        publisher = session.publisher("arrays")
        while not pipe.poll(0.02):
            publisher.send(HELLO)
        pipe.recv()
        start_s = time.monotonic() + 0.1
        for number in range(count):
            time.sleep(max(0.0, start_s + number / rate_hz - time.monotonic()))
            sent.append(time.monotonic_ns())
            publisher.send(array)
        came = pipe.recv()
    return [end - begin for begin, end in zip(sent, came, strict=True)]


def main(transport: str, side: str, count: str, rate_hz: str) -> None:
    here, there = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        receiver = multiprocessing.Process(target=receive, args=(transport, folder, int(count), there), daemon=True)
        receiver.start()
        took_ns = send(transport, folder, np.ones((int(side), int(side))), int(count), float(rate_hz), here)
        receiver.join()
    print(statistics.median(took_ns) / 1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
