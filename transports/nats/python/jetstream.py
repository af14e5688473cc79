"""JetStream: publishers whose messages the broker stores in a stream, and receivers that consume the stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import nats
from nats.aio.client import Client as Nats
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StorageType
from nats.js.errors import BadRequestError

from hopmeter.node.contract import Fill, Link, Take
from hopmeter.node.event_loop import EventLoop, Outbox, Receiver, endpoint_loop

from . import asyncio_ends

if TYPE_CHECKING:
    from .adapter import Connection, Transport

MAX_BYTES = 1 << 30
"""The size of a stream, in bytes, beyond which the broker deletes the oldest messages."""
STREAM_EXISTS = 10058
"""The broker's error code if a stream with this name exists, but has another configuration."""
IDLE_S = 3600.0
"""How long the broker keeps the consumer of a receiver that requests no messages."""
CONFIRMED_S = 60.0
"""How long a sender waits for a confirmation. The broker may write to a slow disk."""
CLOSING_S = 5.0
"""How long a closing sender waits for its outstanding confirmations."""
FETCH_S = 0.1
"""How long a request for messages stays open, in seconds, if a task in an event loop receives the messages."""


class Stream:
    """The JetStream stream of a link. The link's name is the stream's name and its only subject."""

    def __init__(self, connection: Nats, link: Link, settings: Mapping[str, Any]) -> None:
        self.name, self.settings = link.name, settings
        self.js = connection.jetstream(timeout=CONFIRMED_S, publish_async_max_pending=settings["max_pending"])
        self._failed: BaseException | None = None

    async def create(self) -> None:
        """Create the stream, unless the link's other end has created it."""
        limits = {"max_bytes": MAX_BYTES, "max_msgs": self.settings["max_length"] or -1}
        storage = StorageType(self.settings["storage"])
        try:
            await self.js.add_stream(name=self.name, subjects=[self.name], storage=storage, **limits)
        except BadRequestError as cause:
            if cause.err_code != STREAM_EXISTS:
                raise

    async def publish(self, frame: Any) -> None:
        """Publish a message. If `max_pending` is 1, wait until the broker has confirmed the message. Otherwise, wait
        only while `max_pending` messages are unconfirmed."""
        if self.settings["max_pending"] == 1:
            await self.js.publish(self.name, frame)
            return
        if self._failed is not None:
            raise self._failed
        confirmation = await self.js.publish_async(self.name, frame)
        confirmation.add_done_callback(self._note)

    def _note(self, confirmation: asyncio.Future[Any]) -> None:
        if not confirmation.cancelled():
            self._failed = self._failed or confirmation.exception()

    async def finish(self) -> None:
        """Wait for the outstanding confirmations, but at most CLOSING_S, because the broker may have ended."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.js.publish_async_completed(), CLOSING_S)

    async def consume(self) -> Consumer:
        """Create a consumer, which receives the messages that are published from now on."""
        await self.create()
        kind = self.settings["consumer"]
        acknowledges = kind == "pull" or (kind == "push" and self.settings["acknowledge"])
        policy = AckPolicy.EXPLICIT if acknowledges else AckPolicy.NONE
        config = ConsumerConfig(deliver_policy=DeliverPolicy.NEW, ack_policy=policy)
        # As in hopmeter's other NATS adapters, only the number of messages limits the queue.
        limits = {"pending_msgs_limit": 65_536, "pending_bytes_limit": 0}
        if kind == "pull":
            config.inactive_threshold = IDLE_S
            messages: Any = await self.js.pull_subscribe(self.name, stream=self.name, config=config, **limits)
        else:
            ordered = kind == "ordered"
            options = {"config": config, "manual_ack": True, "ordered_consumer": ordered, **limits}
            messages = await self.js.subscribe(self.name, stream=self.name, **options)
        return Consumer(messages, self.settings["batch"] if kind == "pull" else 0, acknowledges)


class Consumer:
    """A consumer of a stream. With `batch` 0, the broker sends messages without a request."""

    def __init__(self, messages: Any, batch: int, acknowledges: bool) -> None:
        self._messages, self._batch, self._acknowledges = messages, batch, acknowledges
        self._fetched: deque[Msg] = deque()

    @property
    def longest_s(self) -> float | None:
        """The timeout with which a task receives messages, or None if the broker sends messages without a request."""
        return FETCH_S if self._batch else None

    async def receive(self, timeout_s: float | None, take: Take) -> int:
        """Pass the next message to `take`, and then acknowledge it. Return 0 after the timeout."""
        try:
            message = await self._next(timeout_s)
        except nats.errors.TimeoutError:
            return 0
        take(message.data, native=message.data)
        if self._acknowledges:
            await message.ack()
        return 1

    async def _next(self, timeout_s: float | None) -> Msg:
        if not self._batch:
            return await self._messages.next_msg(timeout_s)
        if not self._fetched:
            self._fetched.extend(await self._messages.fetch(self._batch, timeout_s))
        return self._fetched.popleft()


class Publisher:
    """A publisher whose event loop runs only during a send. Each send therefore waits for the broker's confirmation."""

    address = ""

    def __init__(self, connection: Connection, link: Link, settings: Mapping[str, Any]) -> None:
        self._connection, self._stream = connection, Stream(connection.nats, link, settings)
        connection.run(self._stream.create())
        self.close = connection.close

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(asyncio_ends.write_frame(payload_bytes, fill))

    def forward(self, native: bytes | bytearray) -> bool:
        self._connection.run(self._stream.publish(native))
        return True


class Subscriber:
    def __init__(self, connection: Connection, link: Link, settings: Mapping[str, Any]) -> None:
        self._connection = connection
        self._consumer = connection.run(Stream(connection.nats, link, settings).consume())
        self.close = connection.close

    def poll(self, timeout_s: float, take: Take) -> int:
        return self._connection.run(self._consumer.receive(max(timeout_s, 0.001), take))


class LoopPublisher(asyncio_ends.End):
    """A publisher whose event loop has a thread of its own, so that confirmations arrive between sends."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link, endpoint_loop() if link.wait == "callback" else EventLoop())
        self._stream = Stream(self.nats, link, transport.settings)
        self._loop.run(self._stream.create())
        self._outbox = Outbox(self._loop)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self._outbox.is_ready and self.forward(asyncio_ends.write_frame(payload_bytes, fill))

    def forward(self, native: bytes | bytearray) -> bool:
        return self._outbox.is_ready and self._outbox.put(self._stream.publish(native))

    def close(self) -> None:
        """Wait for the outstanding confirmations, and close the connection."""
        if self._is_open and self._stream.js.publish_async_pending():
            self._loop.run(self._stream.finish())
        super().close()


class LoopSubscription(asyncio_ends.End):
    """A subscription whose task awaits messages and calls the endpoint."""

    def __init__(self, transport: Transport, link: Link, on_frame: Take) -> None:
        super().__init__(transport, link, endpoint_loop())
        self._on_frame = on_frame
        self._consumer = self._loop.run(Stream(self.nats, link, transport.settings).consume())
        self._receiver = Receiver(self._loop, self._receive)

    async def _receive(self) -> None:
        await self._consumer.receive(self._consumer.longest_s, self._on_frame)

    def close(self) -> None:
        self._receiver.close()
        super().close()
