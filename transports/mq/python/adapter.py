"""The adapter for POSIX message queues in Python, with posix_ipc. ../README.md describes how receivers join."""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import Any

import posix_ipc

from hopmeter.node.base import BaseTransport, opens
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Take

from ..._streams.python.fifos import Entrance, Pipe, connect

LARGEST = 8192
"""The largest message that the kernel allows by default (fs.mqueue.msgsize_max)."""
LOOK_S = 0.01
"""How often a publisher checks for additional receivers after the expected ones have joined."""


def create_queue(name: str, depth: int, size: int) -> Any:
    """Create the queue of a receiver. posix_ipc raises a different exception for each kernel limit."""
    what = f"creating a message queue for {depth} messages of {size} bytes"
    try:
        flags = posix_ipc.O_CREX
        return posix_ipc.MessageQueue(f"/{name}", flags, 0o600, max_messages=depth, max_message_size=size, write=False)
    except ValueError as cause:
        limits = f"fs.mqueue.msg_max={depth} fs.mqueue.msgsize_max={size}"
        raise AdapterError(what, f"use a smaller depth, or raise the limits: sysctl -w {limits}") from cause
    except OSError as cause:
        memory = "raise the memory that all queues of a user may have: ulimit -q unlimited"
        raise AdapterError(what, f"use a smaller depth or smaller messages, or {memory}") from cause


class Receiver:
    """What a publisher knows about a receiver: its queue, and a pipe that stays open while the receiver lives."""

    def __init__(self, life: Pipe, name: str) -> None:
        self._life, self._state = life, select.poll()
        self._state.register(life, 0)
        self._queue = posix_ipc.MessageQueue(f"/{name}", 0, read=False)
        self._queue.block = False
        self.send = self._queue.send
        with contextlib.suppress(posix_ipc.ExistentialError):
            self._queue.unlink()

    @property
    def is_full(self) -> bool:
        return bool(self._queue.current_messages >= self._queue.max_messages)

    @property
    def has_gone(self) -> bool:
        """Whether the receiver has closed its pipe or was killed. The queue of a disconnected receiver still exists,
        because the publisher has the queue open."""
        return any(events & select.POLLERR for _, events in self._state.poll(0))

    def close(self) -> None:
        self._queue.close()
        self._life.close()


class Publisher:
    def __init__(self, transport: Transport, link: Link) -> None:
        self.address = os.path.join(transport.setup.directory, f"{link.name}.fifo")
        self._entrance = Entrance(self.address)
        self._receivers: list[Receiver] = []
        self._expected, self._looked = link.receivers, 0.0
        self._buffer = memoryview(bytearray(min(link.frame_bytes, LARGEST)))
        self._frame = self._buffer

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if len(self._receivers) < self._expected:
            self._admit()
        # If there are several queues, all must have room, so that no receiver gets a frame twice. A single queue needs
        # no check, because the send itself reports a full queue.
        if len(self._receivers) > 1 and not self._has_room():
            return False
        if len(self._frame) != HEADER_BYTES + payload_bytes:
            self._frame = self._lay_out(HEADER_BYTES + payload_bytes)
        fill(self._frame)
        sent = self._send_to_all()
        if time.monotonic() - self._looked > LOOK_S:
            self._admit()  # after the send, so that the check delays no frame
        return sent

    def _lay_out(self, length: int) -> memoryview:
        if length > len(self._buffer):
            remedy = f"a message in these queues has at most {LARGEST} bytes: send smaller messages, or use unix"
            raise AdapterError(f"a frame of {length} bytes, but the limit is {len(self._buffer)}", remedy)
        return self._buffer[:length]

    def _has_room(self) -> bool:
        full = [receiver for receiver in self._receivers if receiver.is_full]
        return all(self._drop_if_gone(receiver) for receiver in full)

    def _send_to_all(self) -> bool:
        """Send the frame to every queue. Return False (busy) if a queue is full, unless the queue's receiver has
        disconnected."""
        for receiver in self._receivers:
            try:
                receiver.send(self._frame)
            except posix_ipc.BusyError:
                return self._drop_if_gone(receiver)
            except ValueError as cause:
                limit = "the receiver's queue was made for smaller frames"
                raise AdapterError(f"a frame of {len(self._frame)} bytes is too large", limit) from cause
        return True

    def _drop_if_gone(self, receiver: Receiver) -> bool:
        if not receiver.has_gone:
            return False
        self._receivers.remove(receiver)
        receiver.close()
        return True

    def _admit(self) -> None:
        """Add the receivers that have joined."""
        while joined := self._entrance.next():
            with contextlib.suppress(posix_ipc.ExistentialError):  # the receiver has disconnected in the meantime
                self._receivers.append(Receiver(*joined))
        self._looked = time.monotonic()

    def close(self) -> None:
        self._entrance.close()
        for receiver in self._receivers:
            receiver.close()


class Subscriber:
    def __init__(self, transport: Transport, link: Link) -> None:
        self._blocks = link.wait == "block"
        size, depth = min(link.frame_bytes, LARGEST), transport.settings["depth"]

        def prepare(name: str) -> None:
            self._queue = create_queue(name, depth, size)

        self._life, _ = connect(link.address, f"{transport.setup.run}_", prepare)
        self._queue.block = self._blocks

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            frame, _ = self._queue.receive(timeout_s) if self._blocks else self._queue.receive()
        except (posix_ipc.BusyError, posix_ipc.SignalError):
            return 0
        take(frame)
        return 1

    def close(self) -> None:
        with contextlib.suppress(posix_ipc.ExistentialError):  # the publisher has removed the name
            self._queue.unlink()
        self._queue.close()
        self._life.close()


class Transport(BaseTransport):
    path = "POSIX message queues"
    publisher, subscriber = opens(Publisher), opens(Subscriber)

    @staticmethod
    def version() -> str:
        return f"Linux {os.uname().release}, posix_ipc {posix_ipc.VERSION}"
