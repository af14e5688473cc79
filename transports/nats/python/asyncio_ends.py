"""The wait `callback`: link ends in an event loop on a thread of its own, as in Python services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nats.aio.client import Client as Nats
from nats.aio.msg import Msg

from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Take
from hopmeter.node.event_loop import EventLoop, Outbox, endpoint_loop

from .connecting import connect

if TYPE_CHECKING:
    from .adapter import Transport

MOST_PENDING = 1 << 20
"""The number of unsent bytes from which a publisher waits until the broker has got them."""


def write_frame(payload_bytes: int, fill: Fill) -> bytearray:
    frame = bytearray(HEADER_BYTES + payload_bytes)
    fill(frame)
    return frame


class End:
    """A link end with a connection in an event loop."""

    address = ""

    def __init__(self, transport: Transport, link: Link, loop: EventLoop) -> None:
        self.subject, self._loop, self._is_open = link.name, loop, True
        self.nats: Nats = loop.run(connect(transport.setup))

    def subscribe(self, subject: str, on_message: Any) -> None:
        self._loop.run(self._subscribe(subject, on_message))

    async def _subscribe(self, subject: str, on_message: Any) -> None:
        # As in hopmeter's other NATS adapters, only the number of messages limits the queue.
        await self.nats.subscribe(subject, cb=on_message, pending_msgs_limit=65_536, pending_bytes_limit=0)
        await self.nats.flush()

    async def publish(self, frame: Any, reply: str = "") -> None:
        await self.nats.publish(self.subject, frame, reply=reply)
        if self.nats.pending_data_size > MOST_PENDING:
            await self.nats.flush()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.run(self.nats.close())
            self._loop.close()


class Publisher(End):
    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link, endpoint_loop())
        self._outbox = Outbox(self._loop)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self._outbox.is_ready and self._outbox.put(self.publish(write_frame(payload_bytes, fill)))

    def forward(self, native: bytes) -> bool:
        return self._outbox.is_ready and self._outbox.put(self.publish(native))


class Subscription(End):
    def __init__(self, transport: Transport, link: Link, on_frame: Take) -> None:
        super().__init__(transport, link, endpoint_loop())
        self._on_frame = on_frame
        self.subscribe(self.subject, self._on_message)

    async def _on_message(self, message: Msg) -> None:
        self._on_frame(message.data, native=message.data)
        await self._loop.finish_sends()


class Client(End):
    """A client that receives the replies to all its calls in one inbox."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link, EventLoop())
        self._outbox, self._replies = Outbox(self._loop), ReplyQueue()
        self.poll = self._replies.poll
        self._inbox = self.nats.new_inbox()
        self.subscribe(self._inbox, self._on_reply)

    async def _on_reply(self, message: Msg) -> None:
        if not message.headers:  # otherwise the broker reports that there are no responders
            self._replies.put((message.data,))

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return self._outbox.is_ready and self._outbox.put(self.publish(write_frame(payload_bytes, fill), self._inbox))


class Server(CalledServer, End):
    def __init__(self, transport: Transport, link: Link) -> None:
        CalledServer.__init__(self, write_frame)
        End.__init__(self, transport, link, endpoint_loop())
        self.subscribe(self.subject, self._on_request)

    async def _on_request(self, request: Msg) -> None:
        reply = self.answer(request.data)
        if reply is not None:
            await request.respond(reply)

    def close(self) -> None:
        CalledServer.close(self)
        End.close(self)
