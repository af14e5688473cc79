"""Redis Streams: publishers that append messages to a stream of the broker, and receivers that read the stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ConnectionError as Disconnected

from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Take
from hopmeter.node.event_loop import Receiver

from . import asyncio_ends

FIELD = b"frame"
CONSUMER = "receiver"
MAX_BYTES = 1 << 30
"""If `max_length` is 0, the size in bytes above which the broker deletes a stream's oldest messages."""


class Stream:
    """The commands with which a link end uses the link's stream."""

    def __init__(self, link: Link, settings: Mapping[str, Any]) -> None:
        self.key, self.max_pending = link.name, settings["max_pending"]
        self._max_length, self._messages, self._bytes = settings["max_length"], 0, 0
        self.is_group = settings["consumer"] == "group"
        self.acknowledges = self.is_group and settings["acknowledge"]
        self._count = settings["batch"] or None
        self.last = "0-0"
        """The id of the last message that was read."""
        self.group = ""

    def limit_with(self, frame: bytes | memoryview) -> int:
        """Return how many messages the stream may contain after a frame is appended. If `max_length` is 0, this is the
        number of messages that fit into MAX_BYTES, given the average size of the messages so far."""
        self._messages, self._bytes = self._messages + 1, self._bytes + len(frame)
        return self._max_length or max(1, MAX_BYTES * self._messages // self._bytes)

    def append(self, client: Any, frame: bytes | memoryview) -> Any:
        """Append a frame to the stream with the client's `xadd`."""
        return client.xadd(self.key, {FIELD: frame}, maxlen=self.limit_with(frame), approximate=True)

    @property
    def new_group(self) -> dict[str, Any]:
        """Return the arguments with which a receiver creates its group, which gets only later messages."""
        return {"name": self.key, "groupname": self.group, "id": "$", "mkstream": True}

    def read(self, client: Any, block_ms: int) -> Any:
        """Read messages with the client's `xread` or `xreadgroup`. If there are none, the broker replies after
        `block_ms`, or waits forever if `block_ms` is 0."""
        if not self.is_group:
            return client.xread({self.key: self.last}, self._count, block_ms)
        streams = {self.key: ">"}
        return client.xreadgroup(self.group, CONSUMER, streams, self._count, block_ms, noack=not self.acknowledges)

    def entries(self, reply: Any) -> list[tuple[Any, bytes]]:
        """Return the ids and frames in a reply to `read`."""
        if not reply:
            return []
        found = next(iter(reply.values()))[0] if isinstance(reply, dict) else reply[0][1]
        self.last = found[-1][0]
        return [(name, fields[FIELD]) for name, fields in found]


class Publisher:
    """A publisher that appends messages with XADD. If `max_pending` is 1, each send waits for the broker's reply.
    Otherwise, a send waits only while `max_pending` messages are unconfirmed."""

    address = ""

    def __init__(self, client: redis.Redis, link: Link, settings: Mapping[str, Any]) -> None:
        self._client, self._stream, self._unconfirmed = client, Stream(link, settings), 0
        self._connection = client.connection_pool.get_connection() if self._stream.max_pending > 1 else None

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        frame = bytearray(HEADER_BYTES + payload_bytes)
        fill(frame)
        return self.forward(memoryview(frame))

    def forward(self, native: bytes | memoryview) -> bool:
        """Send the received bytes without a copy."""
        stream = self._stream
        if self._connection is None:
            stream.append(self._client, native)
            return True
        try:
            self._await_replies(stream.max_pending - 1)
            limit = stream.limit_with(native)
            self._connection.send_command("XADD", stream.key, "MAXLEN", "~", limit, "*", FIELD, native)
        except Disconnected:
            self._unconfirmed = 0  # a new connection brings no replies to the commands of the old one
            raise
        self._unconfirmed += 1
        return True

    def _await_replies(self, limit: int) -> None:
        """Wait until at most `limit` messages are unconfirmed."""
        while self._connection is not None and self._unconfirmed > limit:
            self._connection.read_response()
            self._unconfirmed -= 1

    def close(self) -> None:
        """Wait for the outstanding confirmations, unless the broker has ended, and close the connection."""
        try:
            self._await_replies(0)
        except Disconnected:
            self._unconfirmed = 0
        if self._connection is not None:
            self._client.connection_pool.release(self._connection)
        self._client.close()


class Subscriber:
    def __init__(self, client: redis.Redis, link: Link, settings: Mapping[str, Any]) -> None:
        self._client, self._stream = client, Stream(link, settings)
        self._arrived: deque[tuple[Any, bytes]] = deque()
        self.close = client.close
        if self._stream.is_group:
            self._stream.group = str(client.client_id())
            client.xgroup_create(**self._stream.new_group)
        elif newest := client.xrevrange(link.name, count=1):
            self._stream.last = newest[0][0]

    def poll(self, timeout_s: float, take: Take) -> int:
        if not self._arrived:
            reply = self._stream.read(self._client, max(1, round(timeout_s * 1000)))
            self._arrived.extend(self._stream.entries(reply))
        if not self._arrived:
            return 0
        name, frame = self._arrived.popleft()
        take(frame, native=frame)
        if self._stream.acknowledges:
            self._client.xack(self._stream.key, self._stream.group, name)
        return 1


class LoopPublisher(asyncio_ends.Publisher):
    """A publisher in an event loop, which awaits the broker's reply to each XADD."""

    def __init__(self, client: AsyncRedis, link: Link, settings: Mapping[str, Any]) -> None:
        super().__init__(client, link.name)
        self._stream = Stream(link, settings)

    async def _publish(self, frame: bytes | memoryview) -> None:
        await self._stream.append(self._client, frame)


class LoopSubscription(asyncio_ends.End):
    """A subscription whose task awaits messages and calls the endpoint."""

    def __init__(self, client: AsyncRedis, link: Link, settings: Mapping[str, Any], on_frame: Take) -> None:
        super().__init__(client, link.name)
        self._stream, self._on_frame = Stream(link, settings), on_frame
        self._arrived: deque[tuple[Any, bytes]] = deque()
        self._loop.run(self._begin())
        self._receiver = Receiver(self._loop, self._receive)

    async def _begin(self) -> None:
        if self._stream.is_group:
            self._stream.group = str(await self._client.client_id())
            await self._client.xgroup_create(**self._stream.new_group)
        elif newest := await self._client.xrevrange(self._stream.key, count=1):
            self._stream.last = newest[0][0]

    async def _receive(self) -> None:
        try:
            while not self._arrived:
                self._arrived.extend(self._stream.entries(await self._stream.read(self._client, block_ms=0)))
        except Disconnected as gone:
            raise EOFError from gone
        name, frame = self._arrived.popleft()
        self._on_frame(frame, native=frame)
        if self._stream.acknowledges:
            await self._client.xack(self._stream.key, self._stream.group, name)

    def close(self) -> None:
        self._receiver.close()
        super().close()
