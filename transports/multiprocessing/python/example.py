"""Sends messages between two Python programs with multiprocessing.

Start `example.py receive`, then `example.py send` in a second terminal; or `example.py serve`, then `example.py call`.
"""

import contextlib
import multiprocessing
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
KIND = "connection"  # `shared_memory`: the connection announces frames in a segment; `torch`: it passes tensors
SLOTS = 16
READING = "view"  # `copy`: copy a frame out of its slot before it is used
SHARING = "file_descriptor"  # PyTorch's sharing strategy
SOCKET, KEY = f"{TOPIC}.sock", f"{TOPIC}.key"
SHARED = KIND == "shared_memory"


def prepare(key: bytes) -> bytes:
    """Let this program share tensors with other programs that know the key."""
    if KIND == "torch":
        import torch.multiprocessing

        torch.multiprocessing.set_sharing_strategy(SHARING)
        multiprocessing.current_process().authkey = key
    return key


@contextlib.contextmanager
def listen() -> Iterator[Connection]:
    """Wait for the other program, which must know the key in the file KEY."""
    key = secrets.token_bytes(32)
    with open(os.open(KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    try:
        with Listener(SOCKET, "AF_UNIX", authkey=prepare(key)) as listener:
            print("ready", flush=True)
            with listener.accept() as connection:
                yield connection
    finally:
        os.unlink(KEY)


@contextlib.contextmanager
def connect(slots: int) -> Iterator[tuple[Connection, memoryview]]:
    """Connect to the other program. With shared memory, also create a segment and send its name."""
    with open(KEY, "rb") as file:
        connection = Client(SOCKET, "AF_UNIX", authkey=prepare(file.read()))
    with connection:
        if not SHARED:
            yield connection, memoryview(b"")
            return
        segment = SharedMemory(create=True, size=slots * PAYLOAD_BYTES)
        try:
            connection.send_bytes(segment.name.encode())
            yield connection, segment.buf
        finally:
            segment.close()
            segment.unlink()


def attach(connection: Connection) -> SharedMemory:
    """Open the other program's segment."""
    name = connection.recv_bytes(256).decode()
    if sys.version_info >= (3, 13):
        return SharedMemory(name, track=False)
    segment = SharedMemory(name)
    # Before Python 3.13, Python would remove the other program's segment as soon as this program ends.
    resource_tracker.unregister(f"/{name}", "shared_memory")
    return segment


def put(connection: Connection, payload: bytes) -> None:
    if KIND != "torch":
        connection.send_bytes(payload)
        return
    import torch

    connection.send(torch.frombuffer(bytearray(payload), dtype=torch.uint8))


def get(connection: Connection) -> bytes:
    """Return a message: a payload, or what announces a frame in shared memory."""
    return connection.recv().numpy().tobytes() if KIND == "torch" else connection.recv_bytes()


def wait_for_end(connection: Connection) -> None:
    """Wait until the other program has read everything, because shared memory ends with the program that created it."""
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            connection.recv_bytes()


def slot_of(memory: memoryview, number: int) -> memoryview:
    return memory[number * PAYLOAD_BYTES : (number + 1) * PAYLOAD_BYTES]


def send() -> None:
    payload = bytes(PAYLOAD_BYTES)
    with connect(SLOTS) as (connection, memory):
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            if not SHARED:
                put(connection, payload)
                continue
            if number >= SLOTS:
                connection.recv_bytes()  # the receiver has finished with a slot
            slot_of(memory, number % SLOTS)[:] = payload
            connection.send_bytes((number % SLOTS).to_bytes(4, "little"))
        wait_for_end(connection)
    print(f"sent {COUNT} messages")


def receive() -> None:
    count = 0
    with listen() as connection:
        segment = attach(connection) if SHARED else None
        while count < COUNT:
            message = get(connection)
            if segment is not None:
                frame = slot_of(segment.buf, int.from_bytes(message, "little"))
                with frame:
                    count += len(bytes(frame) if READING == "copy" else frame) == PAYLOAD_BYTES
                connection.send_bytes(message)  # frees the slot
            else:
                count += len(message) == PAYLOAD_BYTES
        if segment is not None:
            segment.close()
    print(f"received {count} messages")


def serve() -> None:
    with listen() as connection:
        segment = attach(connection) if SHARED else None
        for _ in range(COUNT):
            request = get(connection)
            if segment is not None:  # the request is in slot 0, and the reply in slot 1
                with slot_of(segment.buf, 0) as asked, slot_of(segment.buf, 1) as reply:
                    reply[:] = asked
            put(connection, request)
        wait_for_end(connection)
        if segment is not None:
            segment.close()
    print(f"answered {COUNT} calls")


def call() -> None:
    payload, count = bytes(PAYLOAD_BYTES), 0
    with connect(2) as (connection, memory):
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            if SHARED:
                slot_of(memory, 0)[:] = payload
            put(connection, b"request" if SHARED else payload)
            reply = get(connection)
            count += len(slot_of(memory, 1) if SHARED else reply) == PAYLOAD_BYTES
    print(f"received {count} replies")


if __name__ == "__main__":
    {"send": send, "receive": receive, "serve": serve, "call": call}[sys.argv[1]]()
