"""The peer program of the client tests: `python peer.py ROLE TRANSPORT FOLDER [KEY=VALUE …]`.

The program reports its progress on standard output.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Any

import numpy as np

import hopmeter

OBJECTS: dict[str, Any] = {
    "array": np.arange(24, dtype="<f4").reshape(2, 3, 4),
    "image": np.arange(480 * 640 * 3, dtype=np.uint8).reshape(480, 640, 3),
    "dict": {"stamp": 7, "left": np.arange(5), "right": np.ones((2, 2), dtype=">i2")},
    "text": "Grüße, 世界",
}


def publish(house: Any, over: threading.Event) -> None:
    """Publish all objects repeatedly until the test ends, so that a late subscriber receives all of them."""
    publisher = house.publisher("camera")
    print("ready", flush=True)
    while not over.wait(0.002):
        for name, sent in OBJECTS.items():
            publisher.send({"name": name, "object": sent}, timeout_s=30)


def handler(asked: Any) -> Any:
    if isinstance(asked, str) and asked == "fail":
        raise ValueError("asked to fail")
    if isinstance(asked, np.ndarray):
        return asked * 2
    return {"got": asked}


def serve(house: Any, over: threading.Event) -> None:
    house.server("add", handler)
    print("ready", flush=True)
    over.wait()


def ask(house: Any, over: threading.Event) -> None:
    house.client("add").call("once")
    print("ready", flush=True)
    over.wait()


def play(role: str, house: Any, over: threading.Event) -> None:
    """Run one role. If the role fails, the program exits, so that the test does not wait."""
    try:
        {"publish": publish, "serve": serve, "ask": ask}[role](house, over)
    except Exception:
        logging.exception("the other program has failed")
        os._exit(1)


def main(role: str, transport: str, folder: str, *settings: str) -> None:
    over = threading.Event()
    with hopmeter.connect(transport, folder=folder, **dict(word.split("=") for word in settings)) as house:
        thread = threading.Thread(target=play, args=(role, house, over))
        thread.start()
        sys.stdin.read()
        over.set()
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
