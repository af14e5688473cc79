"""Named pipes with the socket methods that sending.py and streams.py use, and the way receivers join a publisher.

The binding end creates a pipe with the link's name. Each receiver creates its own pipe in the same folder, and writes
this pipe's name to the binding end's pipe.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hopmeter.node.contract import AdapterError
from hopmeter.node.sockets import PATIENCE_S

RECORD_BYTES = 64
"""The size of a zero-padded name. Pipe writes of this size are atomic, so names never mix."""
_numbers = itertools.count()


class Pipe:
    """One side of a pipe, with a non-blocking descriptor. A pipe waits in `poll` before each call for which a socket
    blocks in the call itself."""

    def __init__(self, path: str, way: int) -> None:
        self._fd = os.open(path, way | os.O_NONBLOCK | os.O_CLOEXEC)
        self._events = select.poll()
        self._events.register(self._fd, select.POLLIN if way == os.O_RDONLY else select.POLLOUT)
        self._timeout_s = 0.0
        self._begun = False

    def fileno(self) -> int:
        return self._fd

    def setsockopt(self, _level: int, option: int, value: bytes) -> None:
        """Set SO_RCVTIMEO, the timeout of a receive call. SO_SNDTIMEO is always PATIENCE_S."""
        if option == socket.SO_RCVTIMEO:
            seconds, microseconds = struct.unpack("@ll", value)
            self._timeout_s = seconds + microseconds / 1e6

    def send(self, data: memoryview, flags: int) -> int:
        """Write as much as the pipe accepts.

        If MSG_DONTWAIT is not given, write until the pipe has accepted nothing for PATIENCE_S. Raises BrokenPipeError
        if the receiver has disconnected.
        """
        sent = 0
        while True:
            with contextlib.suppress(BlockingIOError):
                sent += os.write(self._fd, data[sent:] if sent else data)
            if sent == len(data) or flags & socket.MSG_DONTWAIT or not self._events.poll(PATIENCE_S * 1000):
                return sent

    def recv_into(self, buffer: memoryview, _length: int, flags: int) -> int:
        """Read the available bytes. If none are available, wait for them unless MSG_DONTWAIT is given. Raises
        BlockingIOError after the timeout.

        The rest of a frame (MSG_WAITALL) has often arrived already, so this method reads first and waits only if bytes
        are missing.
        """
        waits = not flags & socket.MSG_DONTWAIT
        if flags & socket.MSG_WAITALL:
            with contextlib.suppress(BlockingIOError):
                return os.readv(self._fd, [buffer])
        if waits and not self._events.poll(self._timeout_s * 1000):
            raise BlockingIOError
        came = os.readv(self._fd, [buffer])
        if not came and not self._begun and not waits:
            raise BlockingIOError  # no writer has opened the pipe yet
        self._begun = True
        return came

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


class Entrance:
    """The pipe of a binding end, with the methods of a listening socket."""

    def __init__(self, path: str) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        # The pipe is also open for writing, so that reads do not report the end of the stream while there are no
        # receivers.
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._ended = threading.Event()

    def next(self) -> tuple[Pipe, str] | None:
        """Return the pipe of the next waiting receiver and the pipe's name, or None if no receiver waits."""
        with contextlib.suppress(BlockingIOError):
            while not self._ended.is_set():
                name = os.read(self._fd, RECORD_BYTES).rstrip(b"\0").decode(errors="replace")
                path = Path(self.path).with_name(name or "gone")
                # If the receiver has disconnected in the meantime, its file is missing or has no reader.
                with contextlib.suppress(OSError):
                    pipe = Pipe(str(path), os.O_WRONLY)
                    path.unlink()
                    return pipe, name
        return None

    def accept(self) -> tuple[Any, str]:
        """Wait for a receiver, and return its pipe and the pipe's name. Raises OSError after `shutdown`."""
        events = select.poll()
        events.register(self._fd, select.POLLIN)
        while not self._ended.is_set():
            if joined := self.next():
                return joined
            events.poll()
        raise OSError("the binding end closes")

    def shutdown(self, _how: int) -> None:
        self._ended.set()
        os.write(self._fd, bytes(RECORD_BYTES))

    def close(self) -> None:
        os.close(self._fd)
        with contextlib.suppress(OSError):  # the launcher removes the folder anyway
            os.unlink(self.path)


def connect(address: str, prefix: str = "", prepare: Callable[[str], object] = str) -> tuple[Pipe, str]:
    """Create a receiver's pipe, send the pipe's name to the binding end, and return the pipe and its name.

    The name begins with `prefix`. `connect` calls `prepare` with the pipe's name before it sends this name.
    """
    name = f"{prefix}{os.getpid()}-{next(_numbers)}"
    path = str(Path(address).with_name(name))
    os.mkfifo(path, 0o600)
    pipe = Pipe(path, os.O_RDONLY)
    prepare(name)
    try:
        joining = os.open(address, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        raise AdapterError(f"no process reads the pipe {address}", "start the publisher first") from cause
    os.write(joining, name.encode().ljust(RECORD_BYTES, b"\0"))
    os.close(joining)
    return pipe, name
