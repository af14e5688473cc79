"""Sends messages with ZeroMQ: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`.
"""

import sys
import time

import zmq

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "ipc://@messages"  # a socket on this machine without a file
HWM = 1000
NODROP = False
PATIENCE_MS = 10_000


def send(context: zmq.Context) -> None:
    publisher = context.socket(zmq.XPUB)
    publisher.setsockopt(zmq.SNDHWM, HWM)
    publisher.setsockopt(zmq.XPUB_NODROP, NODROP)  # True: wait for room in the queue instead of dropping messages
    publisher.bind(ADDRESS)
    if not publisher.poll(PATIENCE_MS):
        sys.exit("no receiver has subscribed")
    publisher.recv()  # waits for the subscription, because earlier messages are lost
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        publisher.send_multipart([TOPIC.encode(), payload])
    publisher.close()
    print(f"sent {COUNT} messages")


def receive(context: zmq.Context) -> None:
    subscriber = context.socket(zmq.SUB)
    subscriber.setsockopt(zmq.RCVHWM, HWM)
    subscriber.subscribe(TOPIC)
    subscriber.connect(ADDRESS)
    print("ready", flush=True)
    count = 0
    while count < COUNT and subscriber.poll(PATIENCE_MS):
        _topic, payload = subscriber.recv_multipart()
        count += len(payload) == PAYLOAD_BYTES
    subscriber.close()
    print(f"received {count} messages")


def call(context: zmq.Context) -> None:
    client = context.socket(zmq.REQ)
    client.linger = 0
    client.connect(ADDRESS)
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        client.send(payload)
        if not client.poll(PATIENCE_MS):
            break
        count += len(client.recv()) == PAYLOAD_BYTES
    client.close()
    print(f"received {count} replies")


def serve(context: zmq.Context) -> None:
    server = context.socket(zmq.REP)
    server.bind(ADDRESS)
    print("ready", flush=True)
    count = 0
    while count < COUNT and server.poll(PATIENCE_MS):
        server.send(server.recv())  # echoes the request as the reply
        count += 1
    server.close()
    print(f"answered {count} calls")


if __name__ == "__main__":
    with zmq.Context() as shared:
        {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]](shared)
