"""Sends messages with nng: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`.
"""

import contextlib
import sys
import threading
import time

import pynng

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "ipc:///tmp/messages.nng"
SEND_BUFFER = -1  # the number of messages that a publisher queues; -1 selects nng's default
RECEIVE_BUFFER = 128
PATIENCE_S = 10.0


def send() -> None:
    message = TOPIC.encode() + bytes(PAYLOAD_BYTES)
    closed = threading.Event()
    with pynng.Pub0() as publisher:
        if SEND_BUFFER >= 0:
            publisher.send_buffer_size = SEND_BUFFER
        publisher.add_post_pipe_remove_cb(lambda _pipe: closed.set())
        publisher.dial(ADDRESS, block=True)
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            publisher.send(message)
        closed.wait(PATIENCE_S)  # wait for the receiver to close, because a closing socket drops its queued messages
    print(f"sent {COUNT} messages")


def receive() -> None:
    count = 0
    # The receiver listens and the senders dial, because a dialling receiver would miss messages sent before it is
    # connected.
    with pynng.Sub0(recv_timeout=round(PATIENCE_S * 1000), recv_buffer_size=RECEIVE_BUFFER) as subscriber:
        subscriber.recv_max_size = 0  # 0 accepts messages of any size
        subscriber.subscribe(TOPIC)
        subscriber.listen(ADDRESS)
        print("ready", flush=True)
        with contextlib.suppress(pynng.Timeout):
            while count < COUNT:
                count += len(subscriber.recv()) == len(TOPIC) + PAYLOAD_BYTES
    print(f"received {count} messages")


def call() -> None:
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    with pynng.Req0(recv_timeout=round(PATIENCE_S * 1000)) as client, contextlib.suppress(pynng.Timeout):
        client.recv_max_size = 0
        client.dial(ADDRESS, block=True)
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            client.send(payload)
            count += len(client.recv()) == PAYLOAD_BYTES
    print(f"received {count} replies")


def serve() -> None:
    count = 0
    closed = threading.Event()
    with pynng.Rep0(recv_timeout=round(PATIENCE_S * 1000)) as server, contextlib.suppress(pynng.Timeout):
        server.recv_max_size = 0
        server.add_post_pipe_remove_cb(lambda _pipe: closed.set())
        server.listen(ADDRESS)
        print("ready", flush=True)
        while count < COUNT:
            server.send(server.recv())  # echoes the request as the reply
            count += 1
        closed.wait(PATIENCE_S)  # the client closes when it has received the last reply
    print(f"answered {count} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
