"""Sends messages with multiprocessing: start `example.py receive`, then `example.py send`; or `serve`, then `call`."""

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Client, Connection, Listener
from multiprocessing.shared_memory import SharedMemory

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
KIND = "connection"  # `shared_memory`: frames are in a segment, and the connection only announces them
SLOTS = 16
READING = "view"  # `copy`: copy a frame out of its slot before it is used
SOCKET, KEY = f"{TOPIC}.sock", f"{TOPIC}.key"


class Frames:
    """Exchanges payloads over a connection, or through a segment that has a ring of slots for each direction."""

    def __init__(self, connection: Connection, segment: SharedMemory | None, ring: int) -> None:
        self.connection, self.segment, self.ring = connection, segment, ring
        self.sent = self.received = 0

    def slot(self, ring: int, number: int) -> memoryview:
        start = (ring * SLOTS + number % SLOTS) * PAYLOAD_BYTES
        return self.segment.buf[start : start + PAYLOAD_BYTES]

    def put(self, payload: bytes | memoryview) -> None:
        if self.segment is not None:
            self.slot(self.ring, self.sent)[:] = payload
        self.connection.send_bytes(payload if self.segment is None else b"frame")
        self.sent += 1

    def get(self) -> bytes | memoryview:
        message = self.connection.recv_bytes()
        if self.segment is None:
            return message
        slot = self.slot(1 - self.ring, self.received)
        self.received += 1
        return bytes(slot) if READING == "copy" else slot


def attach(name: str) -> SharedMemory:
    if sys.version_info >= (3, 13):
        return SharedMemory(name, track=False)
    segment = SharedMemory(name)
    # Before Python 3.13, Python would remove the other program's segment as soon as this program ends.
    resource_tracker.unregister(f"/{name}", "shared_memory")
    return segment


@contextlib.contextmanager
def listen() -> Iterator[Frames]:
    """Wait for the other program, which must know the key in the file KEY."""
    key = secrets.token_bytes(32)
    with open(os.open(KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    try:
        with Listener(SOCKET, "AF_UNIX", authkey=key) as listener:
            print("ready", flush=True)
            with listener.accept() as connection:
                segment = attach(connection.recv_bytes(256).decode()) if KIND == "shared_memory" else None
                yield Frames(connection, segment, 1)
    finally:
        os.unlink(KEY)


@contextlib.contextmanager
def connect() -> Iterator[Frames]:
    with open(KEY, "rb") as file:
        connection = Client(SOCKET, "AF_UNIX", authkey=file.read())
    with connection, contextlib.ExitStack() as stack:
        segment = None
        if KIND == "shared_memory":
            segment = SharedMemory(create=True, size=2 * SLOTS * PAYLOAD_BYTES)
            stack.callback(segment.unlink)
            connection.send_bytes(segment.name.encode())
        yield Frames(connection, segment, 0)


def send() -> None:
    with connect() as frames:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            if frames.segment is not None and number >= SLOTS:
                frames.connection.recv_bytes()  # the receiver has finished with a slot
            frames.put(bytes(PAYLOAD_BYTES))
        with contextlib.suppress(EOFError, ConnectionError):
            while True:  # until the receiver has read everything and ends
                frames.connection.recv_bytes()
    print(f"sent {COUNT} messages")


def receive() -> None:
    count = 0
    with listen() as frames:
        while count < COUNT:
            count += len(frames.get()) == PAYLOAD_BYTES
            if frames.segment is not None:
                frames.connection.send_bytes(b"free")
    print(f"received {count} messages")


def serve() -> None:
    with listen() as frames:
        for _ in range(COUNT):
            frames.put(frames.get())
    print(f"answered {COUNT} calls")


def call() -> None:
    count = 0
    with connect() as frames:
        for _ in range(COUNT):
            frames.put(bytes(PAYLOAD_BYTES))
            count += len(frames.get()) == PAYLOAD_BYTES
            time.sleep(1 / RATE_HZ)
    print(f"received {count} replies")


if __name__ == "__main__":
    {"send": send, "receive": receive, "serve": serve, "call": call}[sys.argv[1]]()
