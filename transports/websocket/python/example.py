"""Sends messages over a WebSocket: start `example.py receive`, then `example.py send` in a second terminal."""

import queue
import sys
import threading
import time

from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

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
    with connect(f"ws://{ADDRESS}/{TOPIC}", **OPTIONS) as connection:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            connection.send(payload)
    print(f"sent {COUNT} messages")


def receive() -> None:
    arrived: queue.Queue[bytes | str] = queue.Queue()

    def read(connection: ServerConnection) -> None:
        for message in connection:
            arrived.put(message)

    host, _, port = ADDRESS.partition(":")
    with serve(read, host, int(port), **OPTIONS) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        print("ready", flush=True)
        count = 0
        try:
            while count < COUNT:
                count += len(arrived.get(timeout=PATIENCE_S)) == PAYLOAD_BYTES
        except queue.Empty:
            pass
        server.shutdown()
        serving.join()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
