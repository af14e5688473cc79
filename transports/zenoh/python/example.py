"""Sends messages with zenoh: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`.
"""

import contextlib
import json
import queue
import sys
import time

import zenoh

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "tcp/127.0.0.1:7447"
CONGESTION = "drop"  # what `put` does if the queue is full: drop or block
EXPRESS = False
PATIENCE_S = 10.0


def open_peer(key: str) -> zenoh.Session:
    """Open a session that listens or connects at ADDRESS, searches for no other peers and uses no shared memory."""
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", "[]")
    config.insert_json5("transport/shared_memory/enabled", "false")
    config.insert_json5(key, json.dumps([ADDRESS]))
    return zenoh.open(config)


def wait_for_peer(end: zenoh.Publisher | zenoh.Querier) -> None:
    """Wait until the other side has connected, because earlier messages are lost."""
    until = time.monotonic() + PATIENCE_S
    while not end.matching_status.matching:
        if time.monotonic() > until:
            sys.exit("the other side does not answer")
        time.sleep(0.01)


def send() -> None:
    control = zenoh.CongestionControl.BLOCK if CONGESTION == "block" else zenoh.CongestionControl.DROP
    with open_peer("connect/endpoints") as session:
        publisher = session.declare_publisher(TOPIC, congestion_control=control, express=EXPRESS)
        wait_for_peer(publisher)
        payload = bytes(PAYLOAD_BYTES)
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            publisher.put(payload)
    print(f"sent {COUNT} messages")


def receive() -> None:
    samples: queue.Queue[zenoh.Sample] = queue.Queue()
    with open_peer("listen/endpoints") as session:
        session.declare_subscriber(TOPIC, samples.put)
        print("ready", flush=True)
        count = 0
        with contextlib.suppress(queue.Empty):
            while count < COUNT:
                count += len(samples.get(timeout=PATIENCE_S).payload) == PAYLOAD_BYTES
    print(f"received {count} messages")


def call() -> None:
    control = zenoh.CongestionControl.BLOCK if CONGESTION == "block" else zenoh.CongestionControl.DROP
    with open_peer("connect/endpoints") as session:
        querier = session.declare_querier(TOPIC, timeout=PATIENCE_S, congestion_control=control, express=EXPRESS)
        wait_for_peer(querier)
        payload = bytes(PAYLOAD_BYTES)
        count = 0
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            replies = [reply.ok.payload for reply in querier.get(payload=payload) if reply.ok]
            count += [len(each) for each in replies] == [PAYLOAD_BYTES]
    print(f"received {count} replies")


def serve() -> None:
    queries: queue.Queue[zenoh.Query] = queue.Queue()
    with open_peer("listen/endpoints") as session:
        session.declare_queryable(TOPIC, queries.put)
        print("ready", flush=True)
        count = 0
        with contextlib.suppress(queue.Empty):
            while count < COUNT:
                with queries.get(timeout=PATIENCE_S) as query:
                    query.reply(TOPIC, query.payload)  # echoes the request as the reply
                count += 1
    print(f"answered {count} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
