"""Encrypted sockets on which the library never blocks for long, as with the sockets in `patient.py`."""

from __future__ import annotations

import contextlib
import select
import ssl
import threading
from collections import deque
from typing import Any

from hopmeter.node.contract import Setup
from hopmeter.node.credentials import client_context, server_context
from hopmeter.node.sockets import PATIENCE_S, Backlog


class PatientTls(ssl.SSLSocket):
    """An encrypted connection whose `sendall` waits only briefly, and leaves the unsent bytes to a thread.

    After the handshake, the socket is non-blocking, because a blocking `SSLSocket` has no time limit of its own for
    sending. A lock prevents the library's threads from sending and receiving at the same instant.
    """

    behind: deque[memoryview]
    """The unsent bytes. The deque is empty if the peer has accepted the last message."""
    _backlog: Backlog
    _lock: threading.Lock
    _is_greeted: bool

    def __new__(cls, *given: Any, **options: Any) -> PatientTls:  # noqa: PYI034 (typing.Self needs Python 3.11)
        # Python creates such sockets without calling `__init__`.
        made = super().__new__(cls, *given, **options)
        made._lock, made._is_greeted = threading.Lock(), False
        made._backlog = Backlog(made._offer)
        made.behind = made._backlog.pieces
        return made

    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        self._is_greeted = True
        self.settimeout(None)

    def settimeout(self, value: float | None, /) -> None:
        """Set the time limit of the handshake. Afterwards, the socket remains non-blocking."""
        super().settimeout(0.0 if self._is_greeted else value)

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        while True:
            try:
                with self._lock:
                    return super().recv(buflen, flags)
            except (ssl.SSLWantReadError, BlockingIOError):
                self._await(select.POLLIN)

    def sendall(self, data: Any, flags: int = 0) -> None:
        with self._backlog.lock:
            if self.behind:
                self._backlog.append(data)
                return
            rest = memoryview(data)
            while rest and (sent := self._offer(rest)):
                rest = rest[sent:]
            if rest:
                self._backlog.begin(rest)

    def _offer(self, data: memoryview) -> int:
        """Send some bytes, and return how many the peer has accepted within `PATIENCE_S`."""
        with contextlib.suppress(ssl.SSLWantWriteError), self._lock:
            return self.send(data)
        self._await(select.POLLOUT, PATIENCE_S)
        with contextlib.suppress(ssl.SSLWantWriteError), self._lock:
            return self.send(data)
        return 0

    def _await(self, event: int, timeout_s: float | None = None) -> None:
        if self.fileno() < 0:
            raise ConnectionAbortedError("the connection is closed")
        poll = select.poll()
        poll.register(self, event)
        poll.poll(None if timeout_s is None else timeout_s * 1000)

    def close(self) -> None:
        super().close()
        self._backlog.join()  # the connection's last send ends within `PATIENCE_S`


def patient_client(setup: Setup) -> ssl.SSLContext | None:
    """Return the TLS context of clients whose connections are patient, or None if connections are not encrypted."""
    return _make_patient(client_context(setup))


def patient_server(setup: Setup) -> ssl.SSLContext | None:
    """Return the TLS context of servers whose connections are patient, or None if connections are not encrypted."""
    return _make_patient(server_context(setup))


def _make_patient(context: ssl.SSLContext | None) -> ssl.SSLContext | None:
    if context is not None:
        context.sslsocket_class = PatientTls
    return context
