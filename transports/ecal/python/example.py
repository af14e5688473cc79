"""Sends messages with eCAL: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`.
"""

import contextlib
import queue
import sys
import time
from collections.abc import Callable
from typing import Any

import ecal.nanobind_core as ecal

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ACKNOWLEDGE_TIMEOUT_MS = 500  # how long a send waits for receivers to read the message; 0 does not wait
MEMFILE_BUFFER_COUNT = 1
PATIENCE_S = 10.0
METHOD = ecal.ServiceMethodInformation("answer")


def configure() -> Any:
    """Configure eCAL to use shared memory for messages; calls use TCP."""
    config = ecal.Configuration()
    for end in (config.publisher, config.subscriber):
        end.layer.shm.enable, end.layer.udp.enable, end.layer.tcp.enable = True, False, False
    config.publisher.layer.shm.acknowledge_timeout_ms = ACKNOWLEDGE_TIMEOUT_MS
    config.publisher.layer.shm.memfile_buffer_count = MEMFILE_BUFFER_COUNT
    parts = ecal.init.PUBLISHER | ecal.init.SUBSCRIBER | ecal.init.SERVICE
    if not ecal.initialize(config, TOPIC, parts):
        sys.exit("eCAL does not start")
    return config


def wait_until(is_done: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_done():
        if time.monotonic() > until:
            sys.exit("the other side does not answer")
        time.sleep(0.01)


def send() -> None:
    publisher = ecal.Publisher(TOPIC, config=configure().publisher)
    wait_until(publisher.get_subscriber_count)  # messages that are sent before a receiver is known are lost
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
    with contextlib.suppress(queue.Empty):
        while count < COUNT:
            count += len(arrived.get(timeout=PATIENCE_S)) == PAYLOAD_BYTES
    subscriber.set_receive_callback(lambda *_: None)
    ecal.finalize()
    print(f"received {count} messages")


def call() -> None:
    configure()
    client = ecal.ServiceClient(TOPIC, {METHOD})
    wait_until(client.is_connected)
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        replies = client.call_with_response(METHOD.method_name, payload, round(PATIENCE_S * 1000)) or []
        count += [len(each.response) for each in replies] == [PAYLOAD_BYTES]
    del client
    ecal.finalize()
    print(f"received {count} replies")


def serve() -> None:
    configure()
    requests: queue.Queue[bytes] = queue.Queue()

    def answer(_method: Any, request: bytes) -> tuple[int, bytes]:
        requests.put(request)
        return 0, request  # 0 means success; echoes the request as the reply

    server = ecal.ServiceServer(TOPIC)
    server.set_method_callback(METHOD, answer)
    print("ready", flush=True)
    count = 0
    with contextlib.suppress(queue.Empty):
        while count < COUNT:
            requests.get(timeout=PATIENCE_S)
            count += 1
    wait_until(lambda: not server.is_connected())  # the client closes when it has received the last reply
    ecal.finalize()
    print(f"answered {count} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
