"""The wait `callback`: link ends in an event loop on a thread of its own, as in Python services."""

from __future__ import annotations

from typing import Any

from dbus_fast import Message, MessageType

from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import Fill, Link, Setup, Take
from hopmeter.node.event_loop import EventLoop, Outbox, endpoint_loop

from .bodies import discard
from .connecting import Messages, Outlet, Post, connect, disconnect, receive, require_connection


class End:
    """A link end with a connection in an event loop."""

    address = ""

    def __init__(self, setup: Setup, link: Link, loop: EventLoop, name: str = "") -> None:
        self._loop, self._is_open, self._outbox = loop, True, Outbox(loop)
        self.messages = Messages(setup, link)
        self.bus = loop.run(connect(setup, self.messages.kind.has_descriptors, name))
        self.outlet = Outlet(self.bus)

    def receive(self, kind: MessageType, on_message: Any, rule: str = "") -> None:
        """Let the connection's reader call a function for the messages of one type."""
        self._loop.run(receive(self.bus, kind, on_message, rule))

    def send_frame(self, post: Post, payload_bytes: int, fill: Fill) -> bool:
        """Send a frame. A caller in the event loop, such as a callback, does not wait for the socket."""
        if not self._outbox.is_ready:
            return False
        frame = self.messages.kind.write(payload_bytes, fill)
        if self._loop.is_here:
            self.outlet.send_soon(post, frame)
            return True
        return self._outbox.put(self.outlet.send(post, frame))

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.run(disconnect(self.bus))
            self._loop.close()


class Publisher(End):
    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(setup, link, endpoint_loop())

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.send_frame(self.messages.post_signal, payload_bytes, fill)


class Subscription(End):
    def __init__(self, setup: Setup, link: Link, on_frame: Take) -> None:
        super().__init__(setup, link, endpoint_loop())
        self._on_frame = on_frame
        self.receive(MessageType.SIGNAL, self._on_signal, self.messages.signal_rule)

    def _on_signal(self, message: Message) -> None:
        with self.messages.kind.read(message) as frame:
            self._on_frame(frame)


class Client(End):
    """A client with its own event loop, because a server's callback blocks the loop of its endpoint while the callback
    waits for a reply."""

    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(setup, link, EventLoop())
        self._replies: ReplyQueue = ReplyQueue()
        self.receive(MessageType.METHOD_RETURN, self._on_reply)

    def _on_reply(self, message: Message) -> None:
        self._replies.put((message,))

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return self.send_frame(self.messages.post_request, payload_bytes, fill)

    def poll(self, timeout_s: float, take: Take) -> int:
        if self._replies.empty():
            require_connection(self.bus)
        return self._replies.poll(timeout_s, lambda message: self._take(message, take))

    def _take(self, message: Message, take: Take) -> None:
        with self.messages.kind.read(message) as frame:
            take(frame)

    def close(self) -> None:
        super().close()
        while not self._replies.empty():
            discard(*self._replies.get())


class Server(CalledServer, End):
    def __init__(self, setup: Setup, link: Link) -> None:
        End.__init__(self, setup, link, endpoint_loop(), Messages(setup, link).server)
        CalledServer.__init__(self, self.messages.kind.write)
        self.receive(MessageType.METHOD_CALL, self._on_request)

    def _on_request(self, request: Message) -> None:
        with self.messages.kind.read(request) as frame:
            reply = self.answer(frame)
        if reply is not None:
            self.outlet.send_soon(self.messages.post_reply, request, reply)

    def close(self) -> None:
        CalledServer.close(self)
        End.close(self)
