"""Sends messages over a WebSocket: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`.
"""

import queue
import sys
import threading
import time

from websockets.sync import client, server
from websockets.sync.server import ServerConnection

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:8765"
COMPRESSION = "off"  # or deflate
MAX_QUEUE = 16
PATIENCE_S = 10.0
OPTIONS = {"compression": None if COMPRESSION == "off" else "deflate", "max_size": None, "max_queue": MAX_QUEUE}


def send() -> None:
    payload = bytes(PAYLOAD_BYTES)
    with client.connect(f"ws://{ADDRESS}/{TOPIC}", **OPTIONS) as connection:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            connection.send(payload)
    print(f"sent {COUNT} messages")


def receive() -> None:
    print(f"received {run_server(answers=False)} messages")


def run_server(*, answers: bool) -> int:
    """Count the messages that arrive. If `answers` is true, return each message as its own reply."""
    arrived: queue.Queue[bytes | str] = queue.Queue()

    def read(connection: ServerConnection) -> None:
        for message in connection:
            if answers:
                connection.send(message)
            arrived.put(message)

    host, _, port = ADDRESS.partition(":")
    with server.serve(read, host, int(port), **OPTIONS) as running:
        serving = threading.Thread(target=running.serve_forever)
        serving.start()
        print("ready", flush=True)
        count = 0
        try:
            while count < COUNT:
                count += len(arrived.get(timeout=PATIENCE_S)) == PAYLOAD_BYTES
        except queue.Empty:
            pass
        running.shutdown()
        serving.join()
    return count


def call() -> None:
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    with client.connect(f"ws://{ADDRESS}/{TOPIC}", **OPTIONS) as connection:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            connection.send(payload)
            count += len(connection.recv(PATIENCE_S)) == PAYLOAD_BYTES
    print(f"received {count} replies")


def serve() -> None:
    print(f"answered {run_server(answers=True)} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
