"""Named pipes with the methods of sockets that sending.py and streams.py use, and how receivers meet a binding end.

A binding end creates a pipe with the link's name. Each receiver creates its own pipe in the same folder, and writes the
name of that pipe to the binding end's pipe.
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
"""The size of a name with zeros after it. The kernel writes and reads so few bytes at once, so names never mix."""
_numbers = itertools.count()


class Pipe:
    """One end of a pipe. Its descriptor never blocks; where a socket waits within a call, a pipe waits in `poll`
    first."""

    def __init__(self, path: str, way: int) -> None:
        self._fd = os.open(path, way | os.O_NONBLOCK | os.O_CLOEXEC)
        self._events = select.poll()
        self._events.register(self._fd, select.POLLIN if way == os.O_RDONLY else select.POLLOUT)
        self._timeout_s = 0.0
        self._begun = False

    def fileno(self) -> int:
        return self._fd

    def setsockopt(self, _level: int, option: int, value: bytes) -> None:
        """Set SO_RCVTIMEO, which is how long a receive call waits. SO_SNDTIMEO is always PATIENCE_S."""
        if option == socket.SO_RCVTIMEO:
            seconds, microseconds = struct.unpack("@ll", value)
            self._timeout_s = seconds + microseconds / 1e6

    def send(self, data: memoryview, flags: int) -> int:
        """Write as much as the pipe accepts. Without MSG_DONTWAIT, write until it has accepted nothing for
        PATIENCE_S. BrokenPipeError means that the receiver has left."""
        sent = 0
        while True:
            with contextlib.suppress(BlockingIOError):
                sent += os.write(self._fd, data[sent:] if sent else data)
            if sent == len(data) or flags & socket.MSG_DONTWAIT or not self._events.poll(PATIENCE_S * 1000):
                return sent

    def recv_into(self, buffer: memoryview, _length: int, flags: int) -> int:
        """Read what is there. Without MSG_DONTWAIT, wait for it. Raises BlockingIOError if nothing comes.

        The rest of a frame (MSG_WAITALL) is often there already, so reading comes first; the beginning is not.
        """
        waits = not flags & socket.MSG_DONTWAIT
        if flags & socket.MSG_WAITALL:
            with contextlib.suppress(BlockingIOError):
                return os.readv(self._fd, [buffer])
        if waits and not self._events.poll(self._timeout_s * 1000):
            raise BlockingIOError
        came = os.readv(self._fd, [buffer])
        if not came and not self._begun and not waits:
            raise BlockingIOError  # until the publisher has opened the pipe, it looks as if its writer has left
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
        # The pipe is also open for writing, so that it has no end while there are no receivers.
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._ended = threading.Event()

    def next(self) -> tuple[Pipe, str] | None:
        """Return the pipe of the next receiver and the pipe's name, or None if none waits."""
        with contextlib.suppress(BlockingIOError):
            while not self._ended.is_set():
                name = os.read(self._fd, RECORD_BYTES).rstrip(b"\0").decode(errors="replace")
                path = Path(self.path).with_name(name or "gone")
                # A receiver that has left in the meantime has removed its file, or nobody reads it.
                with contextlib.suppress(OSError):
                    pipe = Pipe(str(path), os.O_WRONLY)
                    path.unlink()
                    return pipe, name
        return None

    def accept(self) -> tuple[Any, str]:
        """Wait for a receiver, and return what `next` does. Raises OSError after `shutdown`."""
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
    """Create a receiver's pipe, whose name begins with `prefix`, and tell the binding end its name; return both.
    `prepare` runs in between, with the name."""
    name = f"{prefix}{os.getpid()}-{next(_numbers)}"
    path = str(Path(address).with_name(name))
    os.mkfifo(path, 0o600)
    pipe = Pipe(path, os.O_RDONLY)
    prepare(name)
    try:
        joining = os.open(address, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        raise AdapterError(f"nobody reads the pipe {address}", "start the publisher first") from cause
    os.write(joining, name.encode().ljust(RECORD_BYTES, b"\0"))
    os.close(joining)
    return pipe, name
