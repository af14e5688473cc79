"""Publishers and subscribers that share a ring in `multiprocessing.shared_memory`. A connection to each receiver
announces the frames."""

from __future__ import annotations

import functools
import struct
from multiprocessing.connection import Connection
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Setup, Take

from . import keys
from .ends import Reader, Subscriber, Writer, WriterOutlet
from .publishing import Reception
from .rings import (
    ANNOUNCEMENT_BYTES,
    LENGTH,
    Ring,
    RingReader,
    attach_segment,
    create_segment,
    memory_of,
    remove_segment,
    slot_bytes_of,
)

RECEIVERS = 64
GREETING = struct.Struct("<4Q")
"""The numbers that precede the segment's name in the first announcement to a receiver: the number of slots, the bytes
per slot, the index of the receiver's counter, and the number of the receiver's first frame."""


class Bell(WriterOutlet):
    """The connection that announces frames to a receiver, together with the receiver's counter."""

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
    """Writes frames into a segment of shared memory, from which all receivers read the frames."""

    def __init__(self, setup: Setup, link: Link, keyed: bool = False) -> None:
        self._slots, slot_bytes = setup.settings["slots"], slot_bytes_of(link)
        self._next = 0
        self._bare = setup.settings.get("content", "bytes") == "bytes"
        size = Ring.size(RECEIVERS, self._slots, slot_bytes)
        self._segment = create_segment(f"{setup.run}_{link.name}", size)
        self._ring = Ring(memory_of(self._segment), RECEIVERS, self._slots, slot_bytes)
        super().__init__(setup, link, keyed)

    def new_outlet(self, connection: Connection[Any, Any]) -> Bell:
        return Bell(Writer(connection), self._bare)

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

    def _receivers(self) -> list[Bell]:
        outlets: list[Any] = self.outlets()
        for outlet in outlets:
            if outlet.index < 0:
                self._greet(outlet, {other.index for other in outlets})
        return outlets

    def _greet(self, outlet: Bell, taken: set[int]) -> None:
        """Assign a counter to a new receiver, which then receives all later frames."""
        outlet.index = next((index for index in range(RECEIVERS) if index not in taken), -1)
        if outlet.index < 0:
            raise AdapterError(f"more than {RECEIVERS} receivers of one link", "use fewer receivers, or another kind")
        self._ring.done[outlet.index] = self._next
        numbers = GREETING.pack(self._slots, self._ring.slot_bytes, outlet.index, self._next)
        outlet.writer.send_bytes(numbers + self._segment.name.encode())

    def close(self) -> None:
        super().close()
        self._ring.close()
        remove_segment(self._segment)


class SegmentSubscriber(Subscriber):
    """The subscriber of a segment, which opens the segment when the first announcement arrives."""

    def __init__(self, setup: Setup, link: Link, keyed: bool = False) -> None:
        super().__init__(link.wait == "spin")
        self._bell = Reader(keys.connect(link.address, keyed), self._spins)
        self._ring: Ring | None = None
        self._copies = setup.settings.get("reading") == "copy"
        self._frame_bytes = link.frame_bytes
        self._bare = setup.settings.get("content", "bytes") == "bytes"
        self._read_bytes = functools.partial(self._bell.recv_bytes, ANNOUNCEMENT_BYTES)
        self._read = self._read_bytes if self._bare else self._bell.recv

    def _receive(self, timeout_s: float, take: Take) -> int:
        message = self._bell.receive(timeout_s, self._read_bytes if self._ring is None else self._read)
        if message is None:
            return 0
        if self._ring is None:
            self._open(message)
            return 0
        self._frames.read(LENGTH.unpack(message)[0] if self._bare else message, take)
        return 1

    def _open(self, greeting: bytes) -> None:
        slots, slot_bytes, index, first = GREETING.unpack_from(greeting)
        self._segment = attach_segment(greeting[GREETING.size :].decode())
        self._ring = Ring(memory_of(self._segment), RECEIVERS, slots, slot_bytes)
        self._frames = RingReader(self._ring, index, first, self._frame_bytes, self._copies)

    def close(self) -> None:
        super().close()
        self._bell.close()
        if self._ring is not None:
            self._ring.close()
            self._segment.close()
