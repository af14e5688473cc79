"""The kind `multiprocessing.shared_memory`: a ring of frames in one segment, and a `Pipe` that wakes each receiver.

The segment has 64 counters of 64 bytes, followed by the slots. Each counter contains the number of frames that its
receiver has finished, including the frames that were sent before the receiver joined.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count
from multiprocessing import resource_tracker
from multiprocessing.connection import Client, Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Setup, Take

from .ends import Reader, Subscriber, Writer, WriterOutlet
from .publishing import Reception

RECEIVERS = 64
LINE = 64
LENGTH = struct.Struct("<Q")
OWN: set[str] = set()
"""The segments that this process created, which only its own resource tracker may remove."""


class Ring:
    """A segment of shared memory, which the publisher and its receivers use as a ring."""

    def __init__(self, segment: SharedMemory, slots: int, slot_bytes: int) -> None:
        self._segment = segment
        self._slots, self._slot_bytes = slots, slot_bytes
        self._bytes = segment.buf or memoryview(b"")  # `buf` is None after close
        self.done = self._bytes[: RECEIVERS * LINE].cast("Q")[:: LINE // 8]

    def slot(self, number: int, length: int) -> memoryview:
        start = RECEIVERS * LINE + number % self._slots * self._slot_bytes
        return self._bytes[start : start + length]

    def close(self) -> None:
        self.done.release()
        self._bytes.release()
        self._segment.close()


class BellOutlet(WriterOutlet):
    """The pipe that wakes a receiver, together with the receiver's counter."""

    def __init__(self, writer: Writer, bare: bool) -> None:
        super().__init__(writer)
        self.index = -1
        self._bare = bare

    def put(self, message: int) -> None:
        if self._bare:
            self.writer.send_bytes(LENGTH.pack(message))
        else:
            self.writer.send(message)


class SegmentPublisher(Reception):
    """Writes frames into the segment, from which all receivers read them."""

    _numbers = count()

    def __init__(self, setup: Setup, link: Link) -> None:
        self._slots = setup.settings["slots"]
        self._slot_bytes = -(-link.frame_bytes // LINE) * LINE
        self._next = 0
        size = RECEIVERS * LINE + self._slots * self._slot_bytes
        self._segment = SharedMemory(f"{setup.run}_{link.name}", create=True, size=size)
        OWN.add(self._segment.name)
        self._ring = Ring(self._segment, self._slots, self._slot_bytes)
        self._joined: list[BellOutlet] = []
        super().__init__(setup, link)

    def new_outlet(self, connection: Connection[Any, Any]) -> BellOutlet:
        return BellOutlet(Writer(connection), self.setup.settings["content"] == "bytes")

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        outlets = self._receivers()
        if any(outlet.is_full or self._next - self._ring.done[outlet.index] >= self._slots for outlet in outlets):
            for outlet in outlets:
                outlet.writer.notice_departure()  # a disconnected receiver must not block the others
            return False
        fill(self._ring.slot(self._next, HEADER_BYTES + payload_bytes))
        self._next += 1
        for outlet in outlets:
            outlet.put(HEADER_BYTES + payload_bytes)
        return True

    def _receivers(self) -> list[BellOutlet]:
        outlets: list[Any] = self.outlets()
        for outlet in outlets:
            if outlet.index < 0:
                self._greet(outlet, {other.index for other in outlets})
        return outlets

    def _greet(self, outlet: BellOutlet, taken: set[int]) -> None:
        """Assign a counter to a new receiver, which then receives all later frames."""
        outlet.index = next((index for index in range(RECEIVERS) if index not in taken), -1)
        if outlet.index < 0:
            raise AdapterError(f"more than {RECEIVERS} receivers of one link", "use fewer receivers, or another kind")
        self._ring.done[outlet.index] = self._next
        outlet.writer.send((self._segment.name, self._slots, self._slot_bytes, outlet.index, self._next))

    def close(self) -> None:
        super().close()
        self._ring.close()
        self._segment.unlink()
        OWN.discard(self._segment.name)


class SegmentSubscriber(Subscriber):
    """The subscriber of a segment. The first message to a subscriber contains the segment's name; later messages
    contain frame lengths."""

    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(link.wait == "spin")
        self._bell = Reader(Client(link.address, "AF_UNIX"), self._spins)
        self._ring: Ring | None = None
        self._index = self._next = 0
        bare = setup.settings["content"] == "bytes"
        self._length: Callable[[], int] = self._receive_length if bare else self._bell.recv

    def _receive_length(self) -> int:
        return int(LENGTH.unpack(self._bell.recv_bytes())[0])

    def _receive(self, timeout_s: float, take: Take) -> int:
        if timeout_s != self._bell.patience_s:
            self._bell.wait_for(timeout_s)
        self._bell.begun = False
        try:
            if self._ring is None:
                self._open(*self._bell.recv())
                return 0
            length = self._length()
        except BlockingIOError:
            return 0
        take(self._ring.slot(self._next, length))
        self._next += 1
        self._ring.done[self._index] = self._next
        return 1

    def _open(self, name: str, slots: int, slot_bytes: int, index: int, first: int) -> None:
        segment = SharedMemory(name)
        if name not in OWN:
            # Before Python 3.13, every process that opens a segment counts as its owner, and removes the segment on
            # exit.
            resource_tracker.unregister(f"/{name}", "shared_memory")
        self._ring = Ring(segment, slots, slot_bytes)
        self._index, self._next = index, first

    def close(self) -> None:
        super().close()
        self._bell.close()
        if self._ring is not None:
            self._ring.close()
