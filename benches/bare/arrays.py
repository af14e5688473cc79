"""Sends an array from one Python process to another over TCP, as the guide of pyzmq does: `arrays.py RATE MESSAGES
SIDE`.

The first part of a message is JSON that describes the array; the second is the memory of the array, sent without a
copy. Prints the median in microseconds from the time a message was due until its array had arrived.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

import bare
import numpy as np
import zmq

WARMUP = 20
SPUN_NS = 250_000
"""hopmeter's source measures how late its sleeps end, and spins for at most this long."""
SETTLE_S = 0.5
CORES = "1,0"
"""The cores of the receiver and of the sender."""


def wait_until(due_ns: int) -> None:
    """Sleep until shortly before the due time, then spin."""
    left_ns = due_ns - SPUN_NS - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    while time.monotonic_ns() < due_ns:
        pass


def receive(receiver: zmq.Socket[bytes], messages: int, side: int) -> float:
    """Return the median latency after the warm-up."""
    took, wanted = [], np.ones((side, side))
    for _ in range(WARMUP + messages):
        about = receiver.recv_json()
        memory = receiver.recv(copy=False)
        array = np.frombuffer(memory, about["dtype"]).reshape(about["shape"])
        took.append(time.monotonic_ns() - about["due"])
        if not np.array_equal(array, wanted):
            raise SystemExit("the array that arrived is not the array that was sent")
    return statistics.median(took[WARMUP:]) / 1000


def publish(sender: zmq.Socket[bytes], rate: float, side: int) -> None:
    """Send until this process is terminated."""
    time.sleep(SETTLE_S)
    array, due_ns = np.ones((side, side)), time.monotonic_ns()
    while True:
        due_ns += round(1e9 / rate)
        wait_until(due_ns)
        about = {"dtype": str(array.dtype), "shape": array.shape, "due": due_ns}
        sender.send_json(about, zmq.SNDMORE)
        sender.send(array, copy=False)


def main(rate: float, messages: int, side: int) -> None:
    """Measure, with a child process that sends and is always terminated."""
    told, tell = os.pipe()
    bare.pin(CORES)
    child = bare.other_process(CORES)
    if child == 0:
        sender = zmq.Context().socket(zmq.PUB)
        os.write(tell, str(sender.bind_to_random_port("tcp://127.0.0.1")).encode())
        publish(sender, rate, side)
    try:
        receiver = zmq.Context().socket(zmq.SUB)
        receiver.subscribe(b"")
        receiver.connect(f"tcp://127.0.0.1:{os.read(told, 16).decode()}")
        print(receive(receiver, messages, side))
    finally:
        bare.end(child)


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
