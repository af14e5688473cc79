"""Sends messages with gRPC: start `example.py receive`, then `example.py send` in a second terminal.

The receiver is the server, and each message is a call. It carries bytes, so that it needs no .proto file; with one, the
generated class takes the place of the two generic handlers.
"""

import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:50051"
PATIENCE_S = 10.0
OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def send() -> None:
    payload = bytes(PAYLOAD_BYTES)
    with grpc.insecure_channel(ADDRESS, OPTIONS) as channel:
        put = channel.unary_unary(f"/{TOPIC}/Put")
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            put(payload, timeout=PATIENCE_S, wait_for_ready=True)  # returns when the receiver has the message
    print(f"sent {COUNT} messages")


def receive() -> None:
    arrived: queue.Queue[bytes] = queue.Queue()

    def put(message: bytes, _context: Any) -> bytes:
        arrived.put(message)
        return b""

    server = grpc.server(ThreadPoolExecutor(max_workers=4), options=OPTIONS)
    handlers = {"Put": grpc.unary_unary_rpc_method_handler(put)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(TOPIC, handlers)])
    server.add_insecure_port(ADDRESS)
    server.start()
    print("ready", flush=True)
    count = 0
    try:
        while count < COUNT:
            count += len(arrived.get(timeout=PATIENCE_S)) == PAYLOAD_BYTES
    except queue.Empty:
        pass
    server.stop(PATIENCE_S).wait()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
