"""Publish-subscribe: a publisher is a WebSocket server that never reads, and a subscriber is a client that never
writes."""

from __future__ import annotations

import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection

from hopmeter.node.contract import Fill, Link, Setup, Take

from .connections import ListeningEnd, is_behind
from .patient import Listener


class Publisher(ListeningEnd):
    """The sending end of a link: a server to which every subscriber connects."""

    def __init__(self, setup: Setup, link: Link, listener: Listener) -> None:
        self._receivers: list[ServerConnection] = []
        super().__init__(setup, link, listener)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self._is_ready() and self._deliver(self._outgoing.fill(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        return self._is_ready() and self._deliver(native)

    def _is_ready(self) -> bool:
        while self._joining:
            self._receivers.append(self._joining.popleft())
        return not any(is_behind(receiver) for receiver in self._receivers)

    def _deliver(self, message: bytes | memoryview) -> bool:
        for receiver in tuple(self._receivers):
            try:
                receiver.send(message)
            except ConnectionClosed:
                self._receivers.remove(receiver)
        return True


class Subscriber:
    """A subscriber for which the library's thread receives messages before `poll` takes them."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._over = threading.Event()

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            message = self._connection.recv(timeout_s, decode=False)
        except TimeoutError:
            return 0
        except ConnectionClosed:
            self._over.wait(timeout_s)  # without this pause the role would poll in a busy loop
            return 0
        take(message, native=message)
        return 1

    def close(self) -> None:
        self._over.set()
        self._connection.close()
        self._connection.recv_events_thread.join()
