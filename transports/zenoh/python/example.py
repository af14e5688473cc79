"""Sends messages with zenoh: start `example.py receive`, then `example.py send` in a second terminal."""

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
CONGESTION = "drop"  # what `put` does with a full queue: drop or block
EXPRESS = False
PATIENCE_S = 10.0


def open_peer(key: str) -> zenoh.Session:
    """Open a session that listens or connects at ADDRESS, looks for no other peers and uses no shared memory."""
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", "[]")
    config.insert_json5("transport/shared_memory/enabled", "false")
    config.insert_json5(key, json.dumps([ADDRESS]))
    return zenoh.open(config)


def send() -> None:
    control = zenoh.CongestionControl.BLOCK if CONGESTION == "block" else zenoh.CongestionControl.DROP
    with open_peer("connect/endpoints") as session:
        publisher = session.declare_publisher(TOPIC, congestion_control=control, express=EXPRESS)
        until = time.monotonic() + PATIENCE_S
        while not publisher.matching_status.matching:  # what is sent before a receiver is known is lost
            if time.monotonic() > until:
                sys.exit("no receiver has subscribed")
            time.sleep(0.01)
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
        try:
            while count < COUNT:
                count += len(samples.get(timeout=PATIENCE_S).payload) == PAYLOAD_BYTES
        except queue.Empty:
            pass
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
