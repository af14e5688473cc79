"""Sends messages through a named pipe: start `example.py receive`, then `example.py send` in a second terminal.

A pipe carries bytes without message boundaries, so the receiver must know the size of a message.
"""

import fcntl
import os
import sys
import time

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
PIPE_SIZE = 0  # the capacity in bytes; 0 keeps the system's default, 64 KiB
PATH = f"{TOPIC}.fifo"


def send() -> None:
    payload = bytes(PAYLOAD_BYTES)
    with open(PATH, "wb", buffering=0) as pipe:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            rest = memoryview(payload)
            while rest:  # waits while the pipe is full
                rest = rest[pipe.write(rest) :]
    print(f"sent {COUNT} messages")


def receive() -> None:
    os.mkfifo(PATH, 0o600)
    print("ready", flush=True)
    count = 0
    try:
        with open(PATH, "rb") as pipe:  # waits for the sender
            if PIPE_SIZE:
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
            while count < COUNT and len(pipe.read(PAYLOAD_BYTES)) == PAYLOAD_BYTES:
                count += 1
    finally:
        os.unlink(PATH)
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
