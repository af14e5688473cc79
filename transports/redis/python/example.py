"""Sends messages through Redis: start `example.py receive`, then `example.py send` in a second terminal."""

import sys
import time

import redis

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:6379"
PATIENCE_S = 10.0


def connect() -> redis.Redis:
    host, _, port = ADDRESS.partition(":")
    return redis.Redis(host, int(port))


def send() -> None:
    client = connect()
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        client.publish(TOPIC, payload)  # returns when the broker has received the message
    client.close()
    print(f"sent {COUNT} messages")


def receive() -> None:
    client = connect()
    messages = client.pubsub()
    messages.subscribe(TOPIC)
    messages.get_message(timeout=PATIENCE_S)  # the broker has confirmed the subscription
    print("ready", flush=True)
    count = 0
    while count < COUNT and (message := messages.get_message(timeout=PATIENCE_S)):
        count += len(message["data"]) == PAYLOAD_BYTES
    messages.close()
    client.close()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
