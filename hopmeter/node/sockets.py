"""Stream sockets whose sender never blocks for good, whatever its peer does."""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

PATIENCE_S = 0.1
"""How long a sender waits for a peer that reads nothing, before a thread sends the rest."""


def set_patience(connection: socket.socket, option: int, seconds: float) -> None:
    """Set SO_SNDTIMEO or SO_RCVTIMEO. Unlike `settimeout` this adds no system call to every message."""
    whole = int(seconds)
    value = struct.pack("@ll", whole, max(1, int((seconds - whole) * 1e6)))
    connection.setsockopt(socket.SOL_SOCKET, option, value)


class Backlog:
    """Bytes that a peer was too slow to read. A thread sends them as the peer reads, before all later bytes."""

    def __init__(self, send: Callable[[memoryview], int]) -> None:
        """`send` waits a moment, and returns how many bytes were sent. An OSError means the end of the connection."""
        self._send = send
        self._thread: threading.Thread | None = None
        self.lock = threading.Lock()
        self.pieces: deque[memoryview] = deque()
        """Not empty while the peer is behind."""

    def begin(self, rest: Any) -> None:
        """Copy the unsent bytes, and start the thread. Call it only while no bytes are waiting."""
        self.pieces.append(memoryview(bytes(rest)))
        self._thread = threading.Thread(target=self._run, name="backlog", daemon=True)
        self._thread.start()

    def append(self, data: Any) -> None:
        """Copy data that must follow the waiting data. Hold `lock` from before you look at `pieces`."""
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
        """Wait for the thread, which ends when everything was sent or the connection has ended."""
        if self._thread is not None:
            self._thread.join()
