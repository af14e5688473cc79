"""Sockets on which the library never blocks for long, because a separate thread sends the unsent bytes of slow peers.

The library sends with `sendall`, which waits forever for a peer that reads nothing, and holds the connection's lock
during the wait.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from hopmeter.node.contract import Setup
from hopmeter.node.sockets import PATIENCE_S, Backlog, set_patience

AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
WITH_PATIENCE = socket.MSG_NOSIGNAL


class PatientSocket(socket.socket):
    """A connection whose `sendall` waits only briefly, and leaves the unsent bytes to a thread."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        set_patience(self, socket.SO_SNDTIMEO, PATIENCE_S)
        self._backlog = Backlog(lambda rest: self._offer(rest, WITH_PATIENCE))
        self.behind = self._backlog.pieces
        """The backlog, which is not empty until the peer has accepted the last message."""

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        with self._backlog.lock:
            if self.behind:
                self._backlog.append(data)
                return
            rest = memoryview(data)
            rest = rest[self._offer(rest, flags | AT_ONCE) :]
            while rest and (sent := self._offer(rest, flags | WITH_PATIENCE)):
                rest = rest[sent:]
            if rest:
                self._backlog.begin(rest)

    def _offer(self, data: memoryview, flags: int) -> int:
        try:
            return self.send(data, flags)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        super().close()
        self._backlog.join()  # the connection's last send ends within `PATIENCE_S`


class Listener(socket.socket):
    """A listening socket that accepts `PatientSocket` connections: a Unix socket if `file` is given, otherwise TCP."""

    def __init__(self, file: Path | None, setup: Setup) -> None:
        super().__init__(socket.AF_INET if file is None else socket.AF_UNIX, socket.SOCK_STREAM)
        self.file = file
        self.bind((setup.bind, 0) if file is None else str(file))
        self.listen(128)
        self.address = f"{setup.advertised}:{self.getsockname()[1]}" if file is None else str(file)

    def accept(self) -> tuple[socket.socket, Any]:
        plain, peer = super().accept()
        return PatientSocket(plain.family, plain.type, plain.proto, fileno=plain.detach()), peer


def connect_to(address: str, family: int) -> PatientSocket:
    """Connect to a listener's address."""
    made = PatientSocket(family, socket.SOCK_STREAM)
    host, _, port = address.rpartition(":")
    made.connect((host, int(port)) if family == socket.AF_INET else address)
    return made
