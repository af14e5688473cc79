"""Sends messages with MQTT through its broker.

Start `example.py receive`, then `example.py send` in a second terminal.
"""

import queue
import sys
import time
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:1883"
QOS = 0
PATIENCE_S = 10.0


def connect() -> Client:
    client = Client(CallbackAPIVersion.VERSION2)
    host, _, port = ADDRESS.partition(":")
    client.connect(host, int(port))
    return client


def send() -> None:
    client = connect()
    client.loop_start()
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        sent = client.publish(TOPIC, payload, QOS)
    sent.wait_for_publish(PATIENCE_S)
    client.disconnect()
    client.loop_stop()
    print(f"sent {COUNT} messages")


def receive() -> None:
    arrived: queue.Queue[Any] = queue.Queue()
    client = connect()
    client.on_subscribe = lambda *_: arrived.put(None)
    client.on_message = lambda _client, _data, message: arrived.put(message)
    client.subscribe(TOPIC, QOS)
    client.loop_start()
    arrived.get(timeout=PATIENCE_S)  # the broker has confirmed the subscription
    print("ready", flush=True)
    count = 0
    try:
        while count < COUNT:
            count += len(arrived.get(timeout=PATIENCE_S).payload) == PAYLOAD_BYTES
    except queue.Empty:
        pass
    client.disconnect()
    client.loop_stop()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
