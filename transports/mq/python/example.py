"""Sends messages with a POSIX message queue: start `example.py receive`, then `example.py send` elsewhere."""

import sys
import time

import posix_ipc

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
DEPTH = 10  # fs.mqueue.msg_max limits this number
PATIENCE_S = 10.0


def send() -> None:
    queue = posix_ipc.MessageQueue(f"/{TOPIC}", read=False)
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        queue.send(payload)  # waits while the queue is full
    queue.close()
    print(f"sent {COUNT} messages")


def receive() -> None:
    queue = posix_ipc.MessageQueue(
        f"/{TOPIC}", posix_ipc.O_CREX, 0o600, max_messages=DEPTH, max_message_size=PAYLOAD_BYTES, write=False
    )
    print("ready", flush=True)
    count = 0
    try:
        while count < COUNT:
            payload, _priority = queue.receive(PATIENCE_S)
            count += len(payload) == PAYLOAD_BYTES
    except posix_ipc.BusyError:
        pass
    finally:
        queue.unlink()  # otherwise the queue remains until the system restarts
    queue.close()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
