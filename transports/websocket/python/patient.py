"""Sockets that the library may send on without ever being stuck: what a peer is too slow for is finished by a thread.

websockets sends with `sendall`, which waits for ever for a peer that reads nothing, and holds its lock meanwhile.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from pathlib import Path
from typing import Any

PATIENCE_S = 0.1
AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
WITH_PATIENCE = socket.MSG_NOSIGNAL


class PatientSocket(socket.socket):
    """A connection whose `sendall` waits a moment only, and leaves the rest to a thread."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        patience = struct.pack("@ll", 0, int(PATIENCE_S * 1e6))
        self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        self._backlog: deque[memoryview] = deque()
        self._lock = threading.Lock()
        self._finisher: threading.Thread | None = None

    @property
    def behind(self) -> bool:
        """Whether the peer has not yet taken what was sent last."""
        return bool(self._backlog)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        with self._lock:
            if self._backlog:
                self._backlog.append(memoryview(bytes(data)))
                return
            rest = memoryview(data)
            rest = rest[self._offer(rest, flags | AT_ONCE) :]
            while rest and (sent := self._offer(rest, flags | WITH_PATIENCE)):
                rest = rest[sent:]
            if rest:
                self._leave(bytes(rest))

    def _leave(self, rest: bytes) -> None:
        self._backlog.append(memoryview(rest))
        self._finisher = threading.Thread(target=self._finish, name="backlog", daemon=True)
        self._finisher.start()

    def _offer(self, data: memoryview, flags: int) -> int:
        try:
            return self.send(data, flags)
        except BlockingIOError:
            return 0

    def _finish(self) -> None:
        """Ends when the peer has everything, or either side has closed the connection."""
        while self._backlog:
            rest = self._backlog[0]
            try:
                rest = rest[self._offer(rest, WITH_PATIENCE) :]
            except OSError:
                rest = rest[:0]
            with self._lock:
                self._backlog[0] = rest
                if not rest:
                    self._backlog.popleft()

    def close(self) -> None:
        super().close()
        if self._finisher is not None:
            self._finisher.join()  # its last send ends within `PATIENCE_S`


class Listener(socket.socket):
    """A listening socket whose connections are patient; a Unix socket if it is given a file, else TCP at `host`."""

    def __init__(self, file: Path | None, host: str) -> None:
        super().__init__(socket.AF_INET if file is None else socket.AF_UNIX, socket.SOCK_STREAM)
        self.file = file
        self.bind((host, 0) if file is None else str(file))
        self.listen(128)
        self.address = f"{host}:{self.getsockname()[1]}" if file is None else str(file)

    def accept(self) -> tuple[socket.socket, Any]:
        plain, peer = super().accept()
        return PatientSocket(plain.family, plain.type, plain.proto, fileno=plain.detach()), peer


def connected(address: str, family: int) -> PatientSocket:
    """A connection to a listener's address."""
    made = PatientSocket(family, socket.SOCK_STREAM)
    host, _, port = address.rpartition(":")
    made.connect((host, int(port)) if family == socket.AF_INET else address)
    return made
