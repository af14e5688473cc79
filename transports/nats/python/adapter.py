"""The adapter for NATS with nats-py: subjects through a broker. ../README.md describes the wire format.

nats-py runs in an event loop. With `block`, every link end has its own connection and event loop. This loop runs on the
endpoint's thread during a send or a wait. With `callback`, the event loop has a thread of its own (asyncio_ends.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import nats
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import HEADER_BYTES, Closable, Fill, Handle, Link, Setup, Take
from hopmeter.node.credentials import connection_kind

from . import asyncio_ends, jetstream
from .connecting import connect

R = TypeVar("R")


class Connection:
    """A connection to the broker, and the event loop of this connection."""

    def __init__(self, setup: Setup) -> None:
        self._loop = asyncio.new_event_loop()
        self.nats = self.run(connect(setup))

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return self._loop.run_until_complete(work)

    def publish(self, subject: str, reply: str, payload_bytes: int, fill: Fill) -> bool:
        """Send a message and then a ping, and wait until the broker has answered the ping. Waiting for the broker is
        necessary, because the event loop runs only during this call."""
        frame = bytearray(HEADER_BYTES + payload_bytes)
        fill(frame)
        self.run(self.put(subject, frame, reply))
        return True

    async def put(self, subject: str, frame: Any, reply: str = "") -> None:
        await self.nats.publish(subject, frame, reply=reply)
        # nats-py writes a ping immediately, but a message only after its own task has run.
        await asyncio.sleep(0)
        await self.nats.flush()

    async def subscribe(self, subject: str) -> Subscription:
        # As in hopmeter's other NATS adapters, only the number of messages limits the queue.
        subscription = await self.nats.subscribe(subject, pending_msgs_limit=65_536, pending_bytes_limit=0)
        await self.nats.flush()
        return subscription

    def next_message(self, subscription: Subscription, timeout_s: float) -> Msg | None:
        """Return the next message, or None after the timeout. Ignores the broker's own "no responders" messages."""
        try:
            message = self.run(subscription.next_msg(timeout_s))
        except nats.errors.TimeoutError:
            return None
        return None if message.headers else message

    def close(self) -> None:
        self.run(self.nats.close())
        self._loop.close()


class End:
    """The base class of all NATS link ends."""

    address = ""

    def __init__(self, transport: Transport, link: Link) -> None:
        self.subject = link.name
        self.connection = Connection(transport.setup)

    def close(self) -> None:
        self.connection.close()


class Publisher(End):
    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.connection.publish(self.subject, "", payload_bytes, fill)

    def forward(self, native: bytes) -> bool:
        self.connection.run(self.connection.put(self.subject, native))
        return True


class Receiver(End):
    """A receiver that subscribes to the subject of its link."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link)
        self._messages = self.connection.run(self.connection.subscribe(self.subject))


class Subscriber(Receiver):
    def poll(self, timeout_s: float, take: Take) -> int:
        message = self.connection.next_message(self._messages, timeout_s)
        if message is None:
            return 0
        take(message.data, native=message.data)
        return 1


class Client(Subscriber):
    """A client that receives the replies to all its calls in one inbox."""

    def __init__(self, transport: Transport, link: Link) -> None:
        End.__init__(self, transport, link)
        self._inbox = self.connection.nats.new_inbox()
        self._messages = self.connection.run(self.connection.subscribe(self._inbox))

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return self.connection.publish(self.subject, self._inbox, payload_bytes, fill)


class Server(Receiver):
    def poll(self, timeout_s: float, handle: Handle) -> int:
        request = self.connection.next_message(self._messages, timeout_s)
        if request is None:
            return 0
        handle(request.data, lambda size, fill: self.connection.publish(request.reply, "", size, fill))
        return 1


class Transport(BaseTransport):
    version = package_version("nats-py")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = f"{connection_kind(setup)} through {'a stream of ' if self.settings['durable'] else ''}nats-server"

    def publisher(self, link: Link) -> Closable:
        has_loop = link.wait == "callback"
        if not self.settings["durable"]:
            return (asyncio_ends.Publisher if has_loop else Publisher)(self, link)
        if has_loop or self.settings["max_pending"] > 1:
            return jetstream.LoopPublisher(self, link)
        return jetstream.Publisher(Connection(self.setup), link, self.settings)

    def subscriber(self, link: Link) -> Subscriber | jetstream.Subscriber:
        if self.settings["durable"]:
            return jetstream.Subscriber(Connection(self.setup), link, self.settings)
        return Subscriber(self, link)

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        return (jetstream.LoopSubscription if self.settings["durable"] else asyncio_ends.Subscription)(
            self, link, on_frame
        )

    def server(self, link: Link) -> Server | asyncio_ends.Server:
        return (asyncio_ends.Server if link.wait == "callback" else Server)(self, link)

    def client(self, link: Link) -> Client | asyncio_ends.Client:
        return (asyncio_ends.Client if link.wait == "callback" else Client)(self, link)
