"""Sends messages with LCM: start `example.py receive`, then `example.py send` in a second terminal."""

import sys
import time

from lcm import LCM

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "udpm://239.255.76.67:7667?ttl=0"  # with ttl=1, messages reach the local network
RECV_BUF_SIZE = 4194304
QUEUE = 30
PATIENCE_MS = 10_000


def send() -> None:
    lcm = LCM(ADDRESS)
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        lcm.publish(TOPIC, payload)  # LCM confirms nothing: messages sent too early or too fast are lost
    print(f"sent {COUNT} messages")


def receive() -> None:
    count = 0

    def take(_topic: str, message: bytes) -> None:
        nonlocal count
        count += len(message) == PAYLOAD_BYTES

    lcm = LCM(f"{ADDRESS}&recv_buf_size={RECV_BUF_SIZE}")
    lcm.subscribe(TOPIC, take).set_queue_capacity(QUEUE)
    print("ready", flush=True)
    while count < COUNT and lcm.handle_timeout(PATIENCE_MS):
        pass
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
