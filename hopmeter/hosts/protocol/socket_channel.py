"""Sends and receives lines over a socket: with TLS, with authentication codes, or with neither."""

from __future__ import annotations

import socket
import ssl

from hopmeter.hosts.protocol.line_channel import PIECE, LineChannel
from hopmeter.hosts.protocol.shared_secret import LineCodes

WANTS = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


class SocketChannel(LineChannel):
    """A channel over a connection with an authenticated peer."""

    def __init__(self, connection: socket.socket, codes: LineCodes | None) -> None:
        """Send and receive lines over an open connection, which the caller closes."""
        connection.setblocking(False)
        self._connection, self._codes = connection, codes
        super().__init__(connection.fileno(), connection.fileno())

    def _read_piece(self) -> bytes:
        # Each read is at least as long as a TLS record, because a shorter read could leave data in the TLS library,
        # where `select` does not detect it.
        try:
            return self._connection.recv(PIECE)
        except WANTS as cause:
            raise BlockingIOError from cause

    def _write_piece(self, piece: memoryview) -> int:
        try:
            return self._connection.send(piece)
        except WANTS as cause:
            raise BlockingIOError from cause

    def _sign_line(self, line: bytes) -> bytes:
        return self._codes.sign(line) if self._codes else line

    def _check_line(self, line: bytes) -> bytes:
        return self._codes.check(line) if self._codes else line
