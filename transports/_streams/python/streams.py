"""The receivers, clients and servers of `unix` and `tcp` in Python. sending.py contains the sending ends."""

from __future__ import annotations

import select
import socket
import time

from hopmeter.node.buffers import page_aligned
from hopmeter.node.contract import AdapterError, Handle, Link, Take
from hopmeter.node.sockets import set_patience

from .sending import GONE, LENGTH, PREFIX_BYTES, Line, Prepare, prepare_nothing

SMALLEST_BUFFER = 65536
POLLS_PER_LOOK = 256
"""A busy server accepts new clients only once in this many polls."""


class Subscriber:
    """The receiver, with one buffer that each `recv` fills as far as possible."""

    def __init__(self, link: Link, connection: socket.socket) -> None:
        self._connection = connection
        self._frame_bytes = link.frame_bytes
        self._spins = link.wait == "spin"
        self._patience_s = 0.0
        self._buffer = page_aligned(max(PREFIX_BYTES + link.frame_bytes, SMALLEST_BUFFER))
        self._end = 0
        self._ended = False

    @property
    def has_ended(self) -> bool:
        """Whether the peer has closed the connection."""
        return self._ended

    def poll(self, timeout_s: float, take: Take) -> int:
        waits = not self._spins and timeout_s > 0
        if waits and timeout_s != self._patience_s:
            set_patience(self._connection, socket.SO_RCVTIMEO, timeout_s)
            self._patience_s = timeout_s
        if self._ended:
            time.sleep(timeout_s if waits else 0)
            return 0
        count = 0
        while not count and self._receive(waits):
            count = self._hand_over(take)
        return count

    def _receive(self, waits: bool) -> bool:
        """If a frame is incomplete, receive its missing bytes; otherwise, receive everything that fits into the buffer.
        Return whether any byte arrived."""
        rest, flags = self._next_read()
        try:
            came = self._connection.recv_into(rest, 0, flags if waits else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except GONE:
            came = 0
        self._end += came
        self._ended = not came
        return came > 0

    def _next_read(self) -> tuple[memoryview, int]:
        if self._end < PREFIX_BYTES:
            return self._buffer[self._end :] if self._end else self._buffer, 0
        return self._buffer[self._end : PREFIX_BYTES + self._length(0)], socket.MSG_WAITALL

    def _hand_over(self, take: Take) -> int:
        """Pass every complete frame to the role, and move an incomplete frame to the start of the buffer."""
        start, end, count = 0, self._end, 0
        while end - start >= PREFIX_BYTES and (after := start + PREFIX_BYTES + self._length(start)) <= end:
            take(self._buffer[start + PREFIX_BYTES : after])
            start, count = after, count + 1
        if 0 < start < end:
            self._buffer[: end - start] = self._buffer[start:end]
        self._end = end - start
        return count

    def _length(self, start: int) -> int:
        (length,) = LENGTH.unpack_from(self._buffer, start)
        if length > self._frame_bytes:
            largest = f"{self._frame_bytes} bytes is the largest frame of this trial"
            raise AdapterError(
                f"the stream announces a frame of {length} bytes", f"{largest}; the sender is not a node of this trial"
            )
        return int(length)

    def close(self) -> None:
        self._connection.close()


class Client(Subscriber):
    """The client, whose requests and replies use one connection."""

    def __init__(self, link: Link, connection: socket.socket) -> None:
        super().__init__(link, connection)
        self.start = Line(link, connection).send


class Caller(Subscriber):
    """The server's connection to one client."""

    def __init__(self, link: Link, connection: socket.socket) -> None:
        super().__init__(link, connection)
        self.reply = Line(link, connection).send

    def fileno(self) -> int:
        return self._connection.fileno()

    def answer(self, timeout_s: float, handle: Handle) -> int:
        return self.poll(timeout_s, lambda frame: handle(frame, self.reply))


class Server:
    """The server of an rpc link. A server with one client waits in `recv`; a server with several clients waits in
    `poll`."""

    def __init__(self, link: Link, listener: socket.socket, address: str, prepare: Prepare = prepare_nothing) -> None:
        self.address = address
        self._link, self._listener, self._prepare = link, listener, prepare
        self._blocks = link.wait != "spin"
        self._callers: list[Caller] = []
        self._polls = 0
        listener.setblocking(False)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        in_recv_s = timeout_s if len(self._callers) == 1 else 0.0
        if self._blocks and in_recv_s != timeout_s:
            self._sleep(timeout_s)
        count = sum([caller.answer(in_recv_s, handle) for caller in self._callers])
        self._polls += 1
        # A server that waits in `recv` accepts new clients only here: after each empty poll, and at intervals.
        if (self._blocks and not count) or not self._callers or self._polls % POLLS_PER_LOOK == 0:
            self._update_callers()
        return count

    def _sleep(self, timeout_s: float) -> None:
        places = select.poll()
        for each in (self._listener, *self._callers):
            places.register(each, select.POLLIN)
        places.poll(timeout_s * 1000)

    def _update_callers(self) -> None:
        """Accept new clients, and remove clients that have disconnected."""
        for caller in [each for each in self._callers if each.has_ended]:
            self._callers.remove(caller)
            caller.close()
        try:
            while True:
                connection = self._listener.accept()[0]
                self._prepare(connection)
                self._callers.append(Caller(self._link, connection))
        except BlockingIOError:
            pass

    def close(self) -> None:
        for each in (self._listener, *self._callers):
            each.close()
