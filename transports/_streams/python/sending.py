"""The sending ends of `unix` and `tcp` in Python, which send frames over stream sockets as defined in ../README.md."""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable

from hopmeter.node.buffers import page_aligned
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link
from hopmeter.node.sockets import PATIENCE_S, Backlog, set_patience

LENGTH = struct.Struct("<Q")
PREFIX_BYTES = 64
"""The length of the prefix: the frame's length, zero-padded to a cache line, at which the kernel copies fastest."""
AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
GONE = (BrokenPipeError, ConnectionResetError)
Prepare = Callable[[socket.socket], None]
"""A function that sets the options that an accepted connection does not inherit from the listening socket."""


def prepare_nothing(connection: socket.socket) -> None:
    """Leave an accepted connection unchanged, because it inherits every option from the listening socket."""


def set_buffer(sock: socket.socket, option: int, wanted: int, limit: str) -> None:
    """Set SO_SNDBUF or SO_RCVBUF. The value 0 keeps the system's default.

    Raises an error if Linux silently grants a smaller buffer than requested.
    """
    if not wanted:
        return
    sock.setsockopt(socket.SOL_SOCKET, option, wanted)
    if sock.getsockopt(socket.SOL_SOCKET, option) < 2 * wanted:
        raise AdapterError(f"the system refuses a socket buffer of {wanted} bytes", f"raise {limit} with sysctl")


class Receiver:
    """A publisher's connection to one receiver, with the bytes that are not yet sent.

    After the receiver has disconnected, the connection accepts and discards all messages.
    """

    def __init__(self, connection: socket.socket) -> None:
        set_patience(connection, socket.SO_SNDTIMEO, PATIENCE_S)
        self.connection = connection
        self._later = Backlog(self._send_waiting)
        self.backlog = self._later.pieces
        self.gone = False

    def offer(self, message: memoryview, flags: int = AT_ONCE) -> int:
        """Send as much as the kernel accepts without waiting. Return the number of bytes."""
        try:
            return self.connection.send(message, flags)
        except BlockingIOError:
            return 0
        except GONE:
            self.gone = True
            return len(message)

    def finish(self, rest: memoryview) -> None:
        """Send the unsent bytes, and wait up to a time limit. If bytes remain after the time limit, a thread sends
        them."""
        sent = self._send_waiting(rest)
        if sent < len(rest):
            self._later.begin(rest[sent:])

    def _send_waiting(self, rest: memoryview) -> int:
        return self.offer(rest, socket.MSG_NOSIGNAL)


class Draft:
    """One buffer that holds a message: the prefix and the frame."""

    def __init__(self, frame_bytes: int) -> None:
        self._buffer = page_aligned(PREFIX_BYTES + frame_bytes)
        self._message = self._frame = self._buffer[:0]

    def message(self, payload_bytes: int, fill: Fill) -> memoryview:
        """Return a frame that `fill` has written, together with its prefix."""
        if len(self._frame) != HEADER_BYTES + payload_bytes:
            self._lay_out(HEADER_BYTES + payload_bytes)
        fill(self._frame)
        return self._message

    def _lay_out(self, length: int) -> None:
        self._message = self._buffer[: PREFIX_BYTES + length]
        self._frame = self._message[PREFIX_BYTES:]
        LENGTH.pack_into(self._message, 0, length)


class Publisher:
    """The sending end of a pubsub link, with a thread that accepts receivers."""

    def __init__(self, link: Link, listener: socket.socket, address: str, prepare: Prepare = prepare_nothing) -> None:
        self.address = address
        self._listener, self._prepare = listener, prepare
        self._draft = Draft(link.frame_bytes)
        self._receivers: list[Receiver] = []
        self._joining: deque[Receiver] = deque()
        self._accepting = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        try:
            while True:
                connection = self._listener.accept()[0]
                self._prepare(connection)
                self._joining.append(Receiver(connection))
        except OSError:
            pass  # `close` has shut down the listener

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        while self._joining:
            self._receivers.append(self._joining.popleft())
        for receiver in self._receivers:
            if receiver.backlog:
                return False
        return self._deliver(self._draft.message(payload_bytes, fill))

    def _deliver(self, message: memoryview) -> bool:
        """Send a message to every receiver. Return False (busy) if the first receiver accepts no bytes."""
        sent, gone = 0, False
        for receiver in self._receivers:
            if sent:
                receiver.finish(message)
            elif (sent := receiver.offer(message)) == 0:
                return False
            elif sent < len(message):
                receiver.finish(message[sent:])
            gone |= receiver.gone
        if gone:
            self._close_gone()
        return True

    def _close_gone(self) -> None:
        for receiver in self._receivers:
            if receiver.gone:
                receiver.connection.close()
        self._receivers = [receiver for receiver in self._receivers if not receiver.gone]

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for receiver in (*self._receivers, *self._joining):
            receiver.connection.close()


class Line:
    """The sending half of a bidirectional connection: a client's requests, or a server's replies to one client."""

    def __init__(self, link: Link, connection: socket.socket) -> None:
        self._reader = Receiver(connection)
        self._draft = Draft(link.frame_bytes)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self._reader.backlog:
            return False
        message = self._draft.message(payload_bytes, fill)
        sent = self._reader.offer(message)
        if 0 < sent < len(message):
            self._reader.finish(message[sent:])
        return sent > 0
