"""Provides the sending and the receiving side of a multiprocessing connection. Neither side waits forever for an idle
peer."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import queue
import select
import socket
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from hopmeter.node.contract import AdapterError, Take
from hopmeter.node.sockets import PATIENCE_S, Backlog, set_patience

GONE = (BrokenPipeError, ConnectionResetError)


def set_connection_patience(connection: Connection[Any, Any], option: int, seconds: float) -> None:
    """Set SO_SNDTIMEO or SO_RCVTIMEO of a connection's socket."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        set_patience(same, option, seconds)


class Writer(Connection):
    """A sending side that waits only briefly until the connection accepts bytes, and leaves the rest of a message to a
    thread. If `insists` is set, as for a sender on its own thread, the writer waits until the connection accepts bytes
    or `insists` is cleared."""

    def __init__(self, end: Connection[Any, Any], insists: bool = False) -> None:
        super().__init__(os.dup(end.fileno()))
        end.close()
        os.set_blocking(self.fileno(), False)
        self._room = select.poll()
        self._room.register(self.fileno(), select.POLLOUT)
        self._backlog = Backlog(self._send_later)
        self._closing = False
        self.insists = insists
        self.is_full = self._backlog.pieces
        """The backlog, which is not empty until the receiver has accepted the last message."""
        self.is_gone = False

    def notice_departure(self) -> None:
        """Check whether the receiver has disconnected, which is otherwise noticed only during a send."""
        self.is_gone = self.is_gone or any(
            events & (select.POLLHUP | select.POLLERR) for _, events in self._room.poll(0)
        )

    def _send(self, buf: Any, write: Any = None) -> None:
        """Send with a single `os.write` if the connection has room for the message; otherwise use the base class."""
        if not self.is_full:
            try:
                sent = os.write(self._handle, buf)
            except (BlockingIOError, *GONE):  # `_write` handles the error
                pass
            else:
                if sent == len(buf):
                    return
                buf = buf[sent:]
        super()._send(buf, self._write)  # type: ignore[misc]

    def _write(self, handle: int, data: Any) -> int:
        """Write like `os.write`; multiprocessing requires that each call writes at least one byte."""
        with self._backlog.lock:
            if self.is_full:
                self._backlog.append(data)
                return len(data)
        try:
            return self._offer(handle, data) or (0 if self._has_room() else self._leave(data))
        except GONE:
            self.is_gone = True
            if self.insists:
                raise
            return len(data)

    def _offer(self, handle: int, data: Any) -> int:
        try:
            return os.write(handle, data)
        except BlockingIOError:
            return 0

    def _has_room(self) -> bool:
        while not (ready := self._room.poll(PATIENCE_S * 1000)) and self.insists:
            pass
        return bool(ready)

    def _leave(self, data: Any) -> int:
        if self._closing:
            raise BrokenPipeError(errno.EPIPE, "the receiver does not read, and the sender closes")
        self._backlog.begin(data)
        return len(data)

    def _send_later(self, data: memoryview) -> int:
        if self._closing:
            raise BrokenPipeError(errno.EPIPE, "the sender closes")
        try:
            return self._offer(self.fileno(), data) if self._room.poll(PATIENCE_S * 1000) else 0
        except GONE:
            self.is_gone = True
            raise

    def stop(self) -> None:
        """Interrupt all long waits of this side of the connection."""
        self._closing, self.insists = True, False

    def close(self) -> None:
        self.stop()
        self._backlog.join()
        super().close()


class WriterOutlet:
    """The channel to one receiver; the channel is full or disconnected if its writer is full or disconnected."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    @property
    def is_full(self) -> bool:
        return self.writer.is_full

    @property
    def is_gone(self) -> bool:
        return self.writer.is_gone

    def close(self) -> None:
        self.writer.close()


class Reader(Connection):
    """The receiving side of a `multiprocessing.Pipe()` socket, with a timeout for `recv`."""

    def __init__(self, end: Connection[Any, Any], spins: bool) -> None:
        super().__init__(os.dup(end.fileno()))
        end.close()
        os.set_blocking(self.fileno(), not spins)
        self._patience_s = 0.0 if spins else -1.0
        self._begun = False

    def receive(self, timeout_s: float, read: Callable[[], Any]) -> Any:
        """Return the next message, which `read` receives with a method of this connection, or None after the timeout.

        Raises EOFError or ConnectionResetError if the sender has disconnected, and AdapterError if the message exceeds
        a size limit of `read`.
        """
        if timeout_s != self._patience_s:
            set_connection_patience(self, socket.SO_RCVTIMEO, timeout_s)
            self._patience_s = timeout_s
        self._begun = False
        try:
            return read()
        except BlockingIOError:  # until a message has begun, this error means a timeout
            return None
        except OSError as cause:
            if self.readable:
                raise
            what = "a message is larger than the largest frame of this link"
            raise AdapterError(what, "the sender is not a node of this trial") from cause

    def _recv(self, size: int, read: Any = None) -> Any:
        """Receive a complete piece with a single `os.read` if possible; otherwise use the base class."""
        try:
            piece = os.read(self._handle, size)
        except BlockingIOError:
            if not self._begun:
                raise
            piece = self._read(self._handle, size)
        self._begun = True
        if len(piece) == size:
            return io.BytesIO(piece)
        first = [piece]
        return Connection._recv(  # type: ignore[attr-defined]
            self, size, lambda handle, left: first.pop() if first else self._read(handle, left)
        )

    def _read(self, handle: int, size: int) -> bytes:
        """Read the rest of an incomplete message without a time limit. Raises EOFError if the rest is missing."""
        while True:
            with contextlib.suppress(BlockingIOError):
                if piece := os.read(handle, size):
                    return piece
                raise EOFError


class Subscriber:
    """A polled receiver. By default, a subscriber takes messages from a queue; each kind of link overrides the method
    that receives."""

    _queue: Any

    def __init__(self, spins: bool) -> None:
        self._spins = spins
        self._over = threading.Event()

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            return self._receive(0 if self._spins else timeout_s, take)
        except (EOFError, ConnectionResetError):
            self._over.wait(0 if self._spins else timeout_s)  # without this pause the role would poll in a busy loop
            return 0

    def _receive(self, timeout_s: float, take: Take) -> int:
        try:
            message = self._queue.get(not self._spins, timeout_s)
        except queue.Empty:
            return 0
        take(message, native=message)
        return 1

    def close(self) -> None:
        self._over.set()
