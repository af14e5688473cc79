"""Calls over a multiprocessing connection. Requests and replies travel through the connection, or through two rings in
a segment that the client creates. Such a client first sends the number of slots, their size and the segment's name."""

from __future__ import annotations

import functools
import itertools
import os
import socket
import struct
from multiprocessing.connection import Connection, wait
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from hopmeter.node.buffers import FrameBuffer
from hopmeter.node.contract import HEADER_BYTES, Fill, Handle, Link, Setup, Take
from hopmeter.node.sockets import PATIENCE_S

from ..._multiprocessing.python import keys, rings
from ..._multiprocessing.python.ends import Reader, Subscriber, Writer, set_connection_patience
from ..._multiprocessing.python.publishing import Reception
from ..._multiprocessing.python.rings import LENGTH, Ring, RingReader

GREETING = struct.Struct("<2Q")
GONE = (EOFError, ConnectionResetError)
_numbers = itertools.count()


class Line:
    """One side of a connection that carries frames in both directions."""

    def __init__(self, connection: Connection[Any, Any], link: Link) -> None:
        self.writer = Writer(Connection(os.dup(connection.fileno())))
        self.reader = Reader(connection, link.wait == "spin")  # decides whether the socket of both blocks
        set_connection_patience(self.reader, socket.SO_SNDTIMEO, PATIENCE_S)
        self.is_gone = False
        self._outgoing = FrameBuffer(link.frame_bytes)
        self._read = functools.partial(self.reader.recv_bytes, link.frame_bytes)

    def fileno(self) -> int:
        return self.reader.fileno()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self.writer.is_full:
            return False
        self.writer.send_bytes(self._outgoing.fill(payload_bytes, fill))
        return True

    def receive(self, timeout_s: float, take: Take) -> int:
        frame = self.reader.receive(timeout_s, self._read)
        if frame is None:
            return 0
        take(frame)
        return 1

    def close(self) -> None:
        self.writer.close()
        self.reader.close()


class SegmentLine(Line):
    """One side of a connection that announces frames, which are in the rings of a segment."""

    def __init__(
        self, connection: Connection[Any, Any], link: Link, segment: SharedMemory, way: tuple[Ring, Ring], copies: bool
    ) -> None:
        """Create the side that writes into the first ring of `way` and reads from the second."""
        super().__init__(connection, link)
        self._segment, (self._outgoing_ring, self._incoming_ring) = segment, way
        self._frames = RingReader(self._incoming_ring, 0, 0, link.frame_bytes, copies)
        self._sent = 0
        self._read = functools.partial(self.reader.recv_bytes, LENGTH.size)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self.writer.is_full or self._sent - self._outgoing_ring.done[0] >= self._outgoing_ring.slots:
            return False
        fill(self._outgoing_ring.slot(self._sent, HEADER_BYTES + payload_bytes))
        self._sent += 1
        self.writer.send_bytes(LENGTH.pack(HEADER_BYTES + payload_bytes))
        return True

    def receive(self, timeout_s: float, take: Take) -> int:
        length = self.reader.receive(timeout_s, self._read)
        if length is None:
            return 0
        self._frames.read(LENGTH.unpack(length)[0], take)
        return 1

    def close(self) -> None:
        super().close()
        self._outgoing_ring.close()
        self._incoming_ring.close()
        self._segment.close()


def both_rings(segment: SharedMemory, slots: int, slot_bytes: int) -> tuple[Ring, Ring]:
    """Return the ring of requests and the ring of replies of a client's segment."""
    memory, middle = rings.memory_of(segment), Ring.size(1, slots, slot_bytes)
    return Ring(memory[:middle], 1, slots, slot_bytes), Ring(memory[middle:], 1, slots, slot_bytes)


class Client(Subscriber):
    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(link.wait == "spin")
        self._line = self._open(keys.connect(link.address, keyed=True), setup, link)
        self.start = self._line.send

    def _open(self, connection: Connection[Any, Any], _setup: Setup, link: Link) -> Line:
        return Line(connection, link)

    def _receive(self, timeout_s: float, take: Take) -> int:
        return self._line.receive(timeout_s, take)

    def close(self) -> None:
        super().close()
        self._line.close()


class SegmentClient(Client):
    def _open(self, connection: Connection[Any, Any], setup: Setup, link: Link) -> Line:
        slots, slot_bytes = setup.settings["slots"], rings.slot_bytes_of(link)
        name = f"{setup.run}_{link.name}_{os.getpid()}_{next(_numbers)}"
        self._segment = rings.create_segment(name, 2 * Ring.size(1, slots, slot_bytes))
        connection.send_bytes(GREETING.pack(slots, slot_bytes) + name.encode())
        way = both_rings(self._segment, slots, slot_bytes)
        return SegmentLine(connection, link, self._segment, way, setup.settings["reading"] == "copy")

    def close(self) -> None:
        super().close()
        rings.remove_segment(self._segment)


class Server(Reception):
    """The server end of a link. If one client has joined, the server waits in the connection's `recv_bytes`. If several
    clients have joined, the server waits for all of them with `multiprocessing.connection.wait`."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._blocks = link.wait != "spin"
        super().__init__(setup, link, keyed=True)

    def new_outlet(self, connection: Connection[Any, Any]) -> Line:
        return Line(connection, self.link)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        callers: list[Any] = self.outlets()
        if len(callers) == 1:
            return self._answer(callers[0], timeout_s, handle)
        ready = self._await_requests(callers, timeout_s) if self._blocks else callers
        return sum([self._answer(caller, 0, handle) for caller in ready])

    def _await_requests(self, callers: list[Any], timeout_s: float) -> list[Any]:
        """Return the clients that have sent something, after waiting for at most `timeout_s` seconds. Without clients,
        wait until the first client joins."""
        if callers:
            return wait(callers, timeout_s)
        self.joined.wait(timeout_s)
        self.joined.clear()
        return []

    def _answer(self, caller: Line, timeout_s: float, handle: Handle) -> int:
        try:
            return caller.receive(timeout_s, lambda frame: handle(frame, caller.send))
        except GONE:
            caller.is_gone = True
            return 0


class SegmentServer(Server):
    def new_outlet(self, connection: Connection[Any, Any]) -> Line:
        greeting = connection.recv_bytes(rings.ANNOUNCEMENT_BYTES)
        slots, slot_bytes = GREETING.unpack_from(greeting)
        segment = rings.attach_segment(greeting[GREETING.size :].decode())
        requests, replies = both_rings(segment, slots, slot_bytes)
        return SegmentLine(
            connection, self.link, segment, (replies, requests), self.setup.settings["reading"] == "copy"
        )
