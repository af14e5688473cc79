"""The wait `callback`: link ends in an event loop on a thread of its own, as in Python services."""

from __future__ import annotations

import contextlib

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as Disconnected

from hopmeter.node.contract import HEADER_BYTES, Fill, Take
from hopmeter.node.event_loop import EventLoop, Outbox, Receiver


class End:
    """A link end with a connection in its own event loop.

    The link ends of an endpoint do not share an event loop. In hopmeter's calls over two channels, a server's callback
    may wait for the reply to a request that the callback has just published.
    """

    def __init__(self, client: Redis, channel: str) -> None:
        self._client, self._channel, self._loop = client, channel, EventLoop()

    def close(self) -> None:
        self._loop.run(self._client.aclose())
        self._loop.close()


class Publisher(End):
    """A publisher that uses PUBLISH. Each send waits for the broker's answer, because redis-py always waits for it."""

    address = ""

    def __init__(self, client: Redis, channel: str) -> None:
        super().__init__(client, channel)
        self._outbox = Outbox(self._loop, patience_s=None)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if not self._outbox.is_ready:
            return False
        frame = bytearray(HEADER_BYTES + payload_bytes)
        fill(frame)
        return self._outbox.put(self._publish(memoryview(frame)))

    def forward(self, native: bytes | memoryview) -> bool:
        """Send the received bytes without a copy."""
        return self._outbox.is_ready and self._outbox.put(self._publish(native))

    async def _publish(self, frame: bytes | memoryview) -> None:
        await self._client.publish(self._channel, frame)


class Subscription(End):
    def __init__(self, client: Redis, channel: str, on_frame: Take) -> None:
        super().__init__(client, channel)
        self._on_frame = on_frame
        self._messages = client.pubsub(ignore_subscribe_messages=True)
        self._loop.run(self._messages.subscribe(channel))
        self._receiver = Receiver(self._loop, self._receive)

    async def _receive(self) -> None:
        try:
            message = await self._messages.get_message(timeout=None)
        except Disconnected as gone:
            raise EOFError from gone
        if message is not None:
            self._on_frame(message["data"], native=message["data"])

    def close(self) -> None:
        self._receiver.close()
        with contextlib.suppress(Disconnected):
            self._loop.run(self._messages.aclose())
        super().close()
