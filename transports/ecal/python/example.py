"""Sends messages with eCAL: start `example.py receive`, then `example.py send` in a second terminal."""

import queue
import sys
import time
from typing import Any

import ecal.nanobind_core as ecal

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ACKNOWLEDGE_TIMEOUT_MS = 500  # how long a send waits until receivers have read the message; 0 does not wait
MEMFILE_BUFFER_COUNT = 1
PATIENCE_S = 10.0


def configure() -> Any:
    """Use shared memory only."""
    config = ecal.Configuration()
    for end in (config.publisher, config.subscriber):
        end.layer.shm.enable, end.layer.udp.enable, end.layer.tcp.enable = True, False, False
    config.publisher.layer.shm.acknowledge_timeout_ms = ACKNOWLEDGE_TIMEOUT_MS
    config.publisher.layer.shm.memfile_buffer_count = MEMFILE_BUFFER_COUNT
    if not ecal.initialize(config, TOPIC, ecal.init.PUBLISHER | ecal.init.SUBSCRIBER):
        sys.exit("eCAL does not start")
    return config


def send() -> None:
    publisher = ecal.Publisher(TOPIC, config=configure().publisher)
    until = time.monotonic() + PATIENCE_S
    while not publisher.get_subscriber_count():  # what is sent before a receiver is known is lost
        if time.monotonic() > until:
            sys.exit("no receiver has subscribed")
        time.sleep(0.01)
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        publisher.send(payload)
    ecal.finalize()
    print(f"sent {COUNT} messages")


def receive() -> None:
    arrived: queue.Queue[bytes] = queue.Queue()
    subscriber = ecal.Subscriber(TOPIC, config=configure().subscriber)
    subscriber.set_receive_callback(lambda _topic, _type, data: arrived.put(data.buffer))
    print("ready", flush=True)
    count = 0
    try:
        while count < COUNT:
            count += len(arrived.get(timeout=PATIENCE_S)) == PAYLOAD_BYTES
    except queue.Empty:
        pass
    subscriber.set_receive_callback(lambda *_: None)
    ecal.finalize()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
