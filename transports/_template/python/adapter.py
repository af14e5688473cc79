"""Parcel, an example adapter in Python.

../README.md describes the wire format, and hopmeter/node/contract.py the contract.
"""

from __future__ import annotations

import os
import socket
import time

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Setup, Take
from hopmeter.node.sockets import set_patience

PATIENCE_S = 5.0
"""The time after which a receiver that accepts nothing counts as hung. Without this limit, a hung receiver would block
the sender forever."""


class Publisher:
    def __init__(self, setup: Setup, link: Link) -> None:
        # Receivers connect to this address, because this transport has no discovery.
        self.address = os.path.join(setup.directory, f"{link.name}.sock")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._listener.bind(self.address)
        except OSError as cause:
            raise AdapterError(f"cannot bind {self.address}", "set TMPDIR to a folder with a shorter path") from cause
        self._listener.listen(setup.settings["backlog"])
        self._listener.setblocking(False)
        self._receivers: list[socket.socket] = []
        # Create everything that a send needs here, not in `send`.
        self._buffer = memoryview(bytearray(link.frame_bytes))

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        self._accept()
        frame = self._buffer[: HEADER_BYTES + payload_bytes]
        # The last step of `fill` reads the sent time, so call `fill` as late as you can. If your library loans memory,
        # let `fill` write into that memory instead.
        fill(frame)
        flags = socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT
        for receiver in list(self._receivers):
            try:
                receiver.send(frame, flags)
                # Once one receiver has the frame, send the frame to all receivers, because after busy the role would
                # send the frame again.
                flags = socket.MSG_NOSIGNAL
            except BlockingIOError:
                if flags & socket.MSG_DONTWAIT:
                    return False
                raise
            except (BrokenPipeError, ConnectionResetError):
                # A receiver may die at any time. The instrument counts messages to a dead receiver as lost, so the
                # sender reports no failure.
                self._receivers.remove(receiver)
                receiver.close()
        return True

    def _accept(self) -> None:
        """Accept the receivers that have connected since the last call. A receiver may connect at any time."""
        while True:
            try:
                receiver, _ = self._listener.accept()
            except BlockingIOError:
                return
            receiver.setblocking(True)
            set_patience(receiver, socket.SO_SNDTIMEO, PATIENCE_S)
            self._receivers.append(receiver)

    def close(self) -> None:
        for end in (self._listener, *self._receivers):
            end.close()
        os.unlink(self.address)


class Subscriber:
    def __init__(self, link: Link) -> None:
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(link.address)
        self._blocks = link.wait == "block"
        self._timeout_s = 0.0
        self._buffer = memoryview(bytearray(link.frame_bytes))

    def poll(self, timeout_s: float, take: Take) -> int:
        waits = self._blocks and timeout_s > 0
        if waits and timeout_s != self._timeout_s:
            set_patience(self._connection, socket.SO_RCVTIMEO, timeout_s)
            self._timeout_s = timeout_s
        try:
            # With `spin`, check once without sleeping. With `block`, sleep in the transport itself, not in a polling
            # loop.
            length = self._connection.recv_into(self._buffer, 0, 0 if waits else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except ConnectionResetError:
            length = 0
        if length == 0:
            # A disconnected sender does not reconnect. Without the pause, the role would poll in a busy loop.
            time.sleep(timeout_s if waits else 0)
            return 0
        take(self._buffer[:length])
        return 1

    def close(self) -> None:
        self._connection.close()


class Transport(BaseTransport):
    """The transport, of which each process has one. Create the shared objects here: a session, a context or a broker
    connection."""

    # Report how the bytes travelled. If several mechanisms are possible, ask the library which mechanism was used,
    # because the settings do not prove this.
    path = "packets of Unix sockets"

    @staticmethod
    def version() -> str:
        """Return the version that the library reports, not the version that the manifest pins."""
        return f"Linux {os.uname().release}"

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self.setup, link)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(link)
