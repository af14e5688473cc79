"""Connections to dbus-daemon, and the messages of a link."""

from __future__ import annotations

import asyncio
import contextlib
import select
from collections.abc import Callable
from typing import Any

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

from hopmeter.node.contract import AdapterError, Link, Setup

from .bodies import KINDS

INTERFACE, SIGNAL, METHOD = "org.hopmeter.Link", "Frame", "Call"
BUS = "org.freedesktop.DBus"
Post = Callable[..., "asyncio.Future[None]"]
"""A method of `Messages` that sends a message."""


class Messages:
    """The messages of a link: signals, requests and replies."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self.kind = KINDS[setup.settings["body"]]
        self.path, self.server = f"/org/hopmeter/{link.name}", f"org.hopmeter.link_{link.name}"
        self.signal_rule = f"type='signal',interface='{INTERFACE}',path='{self.path}'"

    def post_signal(self, bus: MessageBus, frame: Any) -> asyncio.Future[None]:
        """Send a signal. The returned future is done when the socket has accepted the signal."""
        return self._post(bus, frame, message_type=MessageType.SIGNAL, member=SIGNAL)

    def post_request(self, bus: MessageBus, frame: Any) -> asyncio.Future[None]:
        """Send a request to the server. The returned future is done when the socket has accepted the request."""
        return self._post(bus, frame, destination=self.server, member=METHOD)

    def post_reply(self, bus: MessageBus, request: Message, frame: Any) -> asyncio.Future[None]:
        """Send the reply to a request. The returned future is done when the socket has accepted the reply."""
        return self._send(bus, frame, Message.new_method_return(request, **self.kind.fields(frame)))

    def _post(self, bus: MessageBus, frame: Any, **fields: Any) -> asyncio.Future[None]:
        message = Message(path=self.path, interface=INTERFACE, **fields, **self.kind.fields(frame))
        return self._send(bus, frame, message)

    def _send(self, bus: MessageBus, frame: Any, message: Message) -> asyncio.Future[None]:
        sent: asyncio.Future[None] = bus.send(message)
        sent.add_done_callback(lambda _: self.kind.release(frame))
        return sent


class Outlet:
    """Sends messages over a connection, one after another.

    dbus-fast closes the connection if the socket has no room for a message. Therefore, a message is sent only when the
    socket is writable and has accepted the previous message.
    """

    def __init__(self, bus: MessageBus) -> None:
        self.bus, self._socket, self._poll = bus, bus._sock, select.poll()
        self._poll.register(self._socket, select.POLLOUT)
        self._turn = asyncio.Lock()
        self._sent: asyncio.Future[None] | None = None
        self._later: set[asyncio.Future[None]] = set()

    async def send(self, post: Post, *given: Any) -> None:
        """Send a message with a method of `Messages`, and wait until the socket has accepted the message."""
        async with self._turn:
            if not self._is_writable():
                await self._until_writable()
            self._sent = post(self.bus, *given)
            await self._sent

    def send_soon(self, post: Post, *given: Any) -> None:
        """Send a message from a callback, at once if the socket is writable."""
        if not self._turn.locked() and self._is_writable():
            self._sent = post(self.bus, *given)
            return
        sending = asyncio.ensure_future(self.send(post, *given))
        self._later.add(sending)
        sending.add_done_callback(self._later.discard)

    def _is_writable(self) -> bool:
        is_idle = self._sent is None or self._sent.done()
        return is_idle and bool(self._poll.poll(0))

    async def _until_writable(self) -> None:
        if self._sent is not None:
            await self._sent
        loop, is_ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._socket, is_ready.set)
        await is_ready.wait()
        loop.remove_writer(self._socket)


async def connect(setup: Setup, has_descriptors: bool, name: str = "") -> MessageBus:
    """Return a new connection, which owns the given bus name, if any."""
    bus = await MessageBus(setup.broker, negotiate_unix_fd=has_descriptors).connect()
    if name:
        await bus.request_name(name)
    return bus


async def receive(bus: MessageBus, kind: MessageType, on_message: Callable[[Message], object], rule: str = "") -> None:
    """Pass all messages of one type to a function. For signals, the connection needs a match rule.

    The function does not receive the broker's own messages, such as the reply to the request for the match rule.
    """

    def handle(message: Message) -> bool:
        if message.message_type is not kind or message.sender == BUS:
            return False
        on_message(message)
        return True

    if rule:
        request = Message(BUS, "/org/freedesktop/DBus", BUS, "AddMatch", signature="s", body=[rule])
        if (reply := await bus.call(request)).message_type is MessageType.ERROR:
            raise AdapterError(f"dbus-daemon refuses a match rule: {reply.body}", "read the broker's log")
    bus.add_message_handler(handle)


def require_connection(bus: MessageBus) -> None:
    """Raise AdapterError if the broker has closed the connection."""
    if not bus.connected:
        raise AdapterError("dbus-daemon has closed the connection", "read the broker's log")


async def disconnect(bus: MessageBus) -> None:
    """Close a connection, which the broker may already have closed."""
    bus.disconnect()
    with contextlib.suppress(Exception):  # the error that ended the connection
        await bus.wait_for_disconnect()
