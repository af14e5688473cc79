"""Provides stream sockets that never block a sender forever, even if its peer stops reading."""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

PATIENCE_S = 0.1
"""How long, in seconds, a sender waits for a peer that does not read. After this time, a thread takes over the unsent
bytes."""


def set_patience(connection: socket.socket, option: int, seconds: float) -> None:
    """Set SO_SNDTIMEO or SO_RCVTIMEO.

    SO_SNDTIMEO and SO_RCVTIMEO add no system call per message, whereas `settimeout` does.
    """
    whole = int(seconds)
    value = struct.pack("@ll", whole, max(1, int((seconds - whole) * 1e6)))
    connection.setsockopt(socket.SOL_SOCKET, option, value)


class Backlog:
    """The bytes that could not be sent yet, because the peer reads too slowly.

    As soon as the peer reads again, a thread sends the unsent bytes, and only then any later bytes.
    """

    def __init__(self, send: Callable[[memoryview], int]) -> None:
        """Create a backlog. `send` is a function that must return quickly, and that returns how many bytes it has sent.

        If `send` raises an OSError, the connection has ended.
        """
        self._send = send
        self._thread: threading.Thread | None = None
        self.lock = threading.Lock()
        self.pieces: deque[memoryview] = deque()
        """The unsent bytes, in order. The deque is empty unless the peer reads too slowly."""

    def begin(self, rest: Any) -> None:
        """Copy the unsent bytes, and start the thread that sends them. Call this method only if `pieces` is empty."""
        self.pieces.append(memoryview(bytes(rest)))
        self._thread = threading.Thread(target=self._run, name="backlog", daemon=True)
        self._thread.start()

    def append(self, data: Any) -> None:
        """Append a copy of the data to the backlog, where it waits until all earlier bytes have been sent.

        The caller must acquire `lock` before it reads `pieces`, and must hold `lock` during this call.
        """
        self.pieces.append(memoryview(bytes(data)))

    def _run(self) -> None:
        while self.pieces:
            piece = self.pieces[0]
            try:
                sent = self._send(piece)
            except OSError:
                sent = len(piece)
            with self.lock:
                self.pieces[0] = piece[sent:]
                if sent == len(piece):
                    self.pieces.popleft()

    def join(self) -> None:
        """Wait for the sending thread, which ends when all bytes are sent or the connection has ended."""
        if self._thread is not None:
            self._thread.join()
