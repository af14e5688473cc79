"""Measures the bandwidth of one TCP stream to a host, and the MTU of the route to this host.

The agent receives the stream on the address that other hosts use, so that the probe detects a firewall or a wrong
address.
"""

from __future__ import annotations

import hmac
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

PIECE_BYTES = 1 << 18
SENDING_S = 1.0
SLOW_START_S = 0.25
"""The duration, in seconds, of the first part of the stream, which is excluded from the measurement."""
PATIENCE_S = 5.0
"""The timeout in seconds for the stream on the receiver, and for the connection on the sender."""
MTU_OPTIONS = {socket.AF_INET: (socket.IPPROTO_IP, 14), socket.AF_INET6: (socket.IPPROTO_IPV6, 24)}
"""IP_MTU of ip(7) and IPV6_MTU of ipv6(7), which Python does not define."""


@dataclass(frozen=True)
class Stream:
    """The bandwidth of one TCP stream to a host, and the MTU of the route."""

    mtu_bytes: int
    gbit_s: float


class StreamReceiver:
    """Receives, in its own thread, one stream that begins with a token."""

    def __init__(self, address: str, token: bytes) -> None:
        """Listen on a free port. Raises OSError if the address does not belong to this machine."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._server = socket.create_server((address, 0), family=family)
        self._token, self._bytes, self._ns = token, 0, 0
        self.port = int(self._server.getsockname()[1])
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        with suppress(OSError):
            while (left_s := deadline - time.monotonic()) > 0:
                self._server.settimeout(left_s)
                with self._server.accept()[0] as connection:
                    connection.settimeout(PATIENCE_S)
                    if hmac.compare_digest(connection.recv(len(self._token), socket.MSG_WAITALL), self._token):
                        self._receive(connection)
                        return

    def _receive(self, connection: socket.socket) -> None:
        room, begin_ns = bytearray(PIECE_BYTES), time.monotonic_ns()
        end_ns = begin_ns + round((SENDING_S + PATIENCE_S) * 1e9)
        counted_ns = begin_ns + round(SLOW_START_S * 1e9)
        while (many := connection.recv_into(room)) and (now_ns := time.monotonic_ns()) < end_ns:
            if now_ns > counted_ns:
                self._bytes, self._ns = self._bytes + many, now_ns - counted_ns

    def result(self) -> tuple[int, int]:
        """Wait until the stream ends, and return the number of bytes that were received and the duration in
        nanoseconds."""
        self._thread.join(PATIENCE_S)
        return self._bytes, self._ns

    def close(self) -> None:
        """Stop receiving."""
        self._server.close()


def measure_stream(address: str, port: int, token: bytes, result: Callable[[], tuple[int, int]]) -> Stream:
    """Send a stream to a receiver, and return the stream's bandwidth and the route's MTU. `result` is a function that
    returns how many bytes the receiver counted, and the duration in nanoseconds. Raises OSError if the receiver of the
    stream is unreachable."""
    with socket.create_connection((address, port), PATIENCE_S) as connection:
        connection.sendall(token)
        piece, end = bytes(PIECE_BYTES), time.monotonic() + SENDING_S
        while time.monotonic() < end:
            connection.sendall(piece)
        mtu_bytes = connection.getsockopt(*MTU_OPTIONS[connection.family])
    many, ns = result()
    return Stream(mtu_bytes, 8 * many / ns if ns else 0.0)
