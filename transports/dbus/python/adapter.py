"""The adapter for D-Bus with dbus-fast: signals and method calls through dbus-daemon. ../README.md describes the
messages.

dbus-fast runs in an event loop. Every link end has its own connection. With `block`, the link end's event loop runs on
the endpoint's thread during a send or a wait. With `callback`, the event loop has a thread of its own
(asyncio_ends.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from dbus_fast import Message, MessageType

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import Closable, Fill, Handle, Link, Setup, Take

from . import asyncio_ends
from .bodies import discard
from .connecting import Messages, Outlet, Post, connect, disconnect, receive, require_connection

R = TypeVar("R")


class End:
    """A link end with a connection, whose event loop runs only during a call of the link end."""

    address = ""

    def __init__(self, setup: Setup, link: Link, name: str = "") -> None:
        self._loop = asyncio.new_event_loop()
        self.messages = Messages(setup, link)
        self.bus = self.run(connect(setup, self.messages.kind.has_descriptors, name))
        self._outlet = Outlet(self.bus)
        self._arrived: asyncio.Queue[Message] = asyncio.Queue()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return self._loop.run_until_complete(work)

    def receive(self, kind: MessageType, rule: str = "") -> None:
        """Let the connection's reader queue the messages of one type."""
        self.run(receive(self.bus, kind, self._arrived.put_nowait, rule))

    def next_message(self, timeout_s: float) -> Message | None:
        """Return the next message, or None after the timeout. Raises AdapterError if no more messages can arrive."""
        if self._arrived.empty():
            require_connection(self.bus)
        return self.run(self._next(timeout_s))

    async def _next(self, timeout_s: float) -> Message | None:
        try:
            return await asyncio.wait_for(self._arrived.get(), timeout_s)
        except asyncio.TimeoutError:  # noqa: UP041 (Python 3.10)
            return None

    def post(self, post: Post, *given: Any) -> bool:
        """Send a message, and wait until the socket has accepted it."""
        self.run(self._outlet.send(post, *given))
        return True

    def close(self) -> None:
        self.run(disconnect(self.bus))
        while not self._arrived.empty():
            discard(self._arrived.get_nowait())
        self._loop.close()


class Publisher(End):
    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.post(self.messages.post_signal, self.messages.kind.write(payload_bytes, fill))


class Subscriber(End):
    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(setup, link)
        self.receive(MessageType.SIGNAL, self.messages.signal_rule)

    def poll(self, timeout_s: float, take: Take) -> int:
        message = self.next_message(timeout_s)
        if message is None:
            return 0
        with self.messages.kind.read(message) as frame:
            take(frame)
        return 1


class Client(Subscriber):
    def __init__(self, setup: Setup, link: Link) -> None:
        End.__init__(self, setup, link)
        self.receive(MessageType.METHOD_RETURN)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return self.post(self.messages.post_request, self.messages.kind.write(payload_bytes, fill))


class Server(End):
    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(setup, link, Messages(setup, link).server)
        self.receive(MessageType.METHOD_CALL)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        request = self.next_message(timeout_s)
        if request is None:
            return 0
        kind, post_reply = self.messages.kind, self.messages.post_reply
        with kind.read(request) as frame:
            handle(frame, lambda size, fill: self.post(post_reply, request, kind.write(size, fill)))
        return 1


class Transport(BaseTransport):
    version = package_version("dbus-fast")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        is_memfd = self.settings["body"] == "memfd"
        body = "sealed memory whose file descriptor passes" if is_memfd else "byte arrays"
        self.path = f"{body} through dbus-daemon over Unix sockets"

    def publisher(self, link: Link) -> Closable:
        return (asyncio_ends.Publisher if link.wait == "callback" else Publisher)(self.setup, link)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self.setup, link)

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        return asyncio_ends.Subscription(self.setup, link, on_frame)

    def server(self, link: Link) -> Server | asyncio_ends.Server:
        return (asyncio_ends.Server if link.wait == "callback" else Server)(self.setup, link)

    def client(self, link: Link) -> Client | asyncio_ends.Client:
        return (asyncio_ends.Client if link.wait == "callback" else Client)(self.setup, link)
