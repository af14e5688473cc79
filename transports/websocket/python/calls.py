"""Calls: a request and a reply are one WebSocket message each, on the client's connection."""

from __future__ import annotations

import contextlib
import queue
from functools import partial
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection

from hopmeter.node.buffers import FrameBuffer
from hopmeter.node.contract import Fill, Handle, Link, Reply, Setup

from .connections import ListeningEnd, is_behind
from .patient import Listener
from .topics import Subscriber


class ServedConnection(ServerConnection):
    """A connection that reports each message in a queue that all connections share, so that one thread can wait for all
    connections.

    If a message has many fragments, the library stops receiving in the middle of the message until a thread takes the
    message.
    """

    def __init__(self, arrivals: queue.SimpleQueue[ServedConnection], *given: Any, **options: Any) -> None:
        self._arrivals = arrivals
        super().__init__(*given, **options)

    def process_event(self, event: Any) -> None:
        super().process_event(event)
        if isinstance(event, Frame) and event.opcode in (Opcode.BINARY, Opcode.TEXT):
            self._arrivals.put(self)


class Client(Subscriber):
    def __init__(self, link: Link, connection: ClientConnection) -> None:
        super().__init__(connection)
        self._outgoing = FrameBuffer(link.frame_bytes)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return not is_behind(self._connection) and self._ask(self._outgoing.fill(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        return not is_behind(self._connection) and self._ask(native)

    def _ask(self, request: bytes | memoryview) -> bool:
        with contextlib.suppress(
            ConnectionClosed
        ):  # the server has disconnected: the call is lost, as with any other transport
            self._connection.send(request)
        return True


class Server(ListeningEnd):
    """A server that is polled. The library's own server calls its handler on a separate thread for each connection."""

    def __init__(self, setup: Setup, link: Link, listener: Listener) -> None:
        self._arrivals: queue.SimpleQueue[ServedConnection] = queue.SimpleQueue()
        super().__init__(setup, link, listener, create_connection=partial(ServedConnection, self._arrivals))

    def poll(self, timeout_s: float, handle: Handle) -> int:
        try:
            connection = self._arrivals.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        try:
            request = connection.recv(timeout_s, decode=False)
        except TimeoutError:
            self._arrivals.put(connection)  # the remaining part of the message has not arrived yet
            return 0
        except ConnectionClosed:
            return 0
        handle(request, self._reply_to(connection))
        return 1

    def _reply_to(self, connection: ServerConnection) -> Reply:
        def reply(payload_bytes: int, fill: Fill) -> bool:
            if is_behind(connection):
                return False
            with contextlib.suppress(ConnectionClosed):  # the client has disconnected: its reply is lost
                connection.send(self._outgoing.fill(payload_bytes, fill))
            return True

        return reply
