"""The adapter for Redis with redis-py: channels through a broker. ../README.md describes the wire format."""

from __future__ import annotations

from typing import Any

import redis
import redis.asyncio

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import HEADER_BYTES, Closable, Fill, Link, Setup, Take

from . import asyncio_ends


class Publisher:
    """A publisher that uses PUBLISH. Each send waits for the broker's answer, because redis-py always waits for it."""

    def __init__(self, client: redis.Redis, channel: str) -> None:
        self.address = ""
        self._client, self._channel = client, channel

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        frame = bytearray(HEADER_BYTES + payload_bytes)
        fill(frame)
        return self.forward(memoryview(frame))

    def forward(self, native: bytes | memoryview) -> bool:
        """Send the received bytes without a copy."""
        self._client.publish(self._channel, native)
        return True

    def close(self) -> None:
        self._client.close()


class Subscriber:
    def __init__(self, client: redis.Redis, channel: str) -> None:
        self._client, self._messages = client, client.pubsub(ignore_subscribe_messages=True)
        self._messages.subscribe(channel)

    def poll(self, timeout_s: float, take: Take) -> int:
        """Wait for the beginning of a message with a timeout, and then wait for the rest without a time limit.
        redis-py's own timeout is not used: if it passed between two pieces of a message, redis-py would reconnect and
        silently lose the message."""
        if not self._messages.connection.can_read(timeout=timeout_s):
            return 0
        message = self._messages.get_message(timeout=None)
        if message is None:
            return 0
        take(message["data"], native=message["data"])
        return 1

    def close(self) -> None:
        self._messages.close()
        self._client.close()


class Transport(BaseTransport):
    version = package_version("redis")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._tcp, self._unix = setup.broker.split(" ")
        self._is_unix = self.settings["endpoint"] == "unix"
        self.path = "Unix socket through redis-server" if self._is_unix else "TCP through redis-server"

    @property
    def _connection(self) -> dict[str, Any]:
        """Return the arguments of one link end's connection, which is made when its first command is sent."""
        credentials, _, place = self._tcp.rpartition("@")
        user, _, password = credentials.partition(":")
        known = {"username": user, "password": password} if credentials else {}
        if self._is_unix:
            return {"unix_socket_path": self._unix, **known}
        host, _, port = place.partition(":")
        return {"host": host, "port": int(port), **known}

    def publisher(self, link: Link) -> Publisher | asyncio_ends.Publisher:
        if link.wait == "callback":
            return asyncio_ends.Publisher(redis.asyncio.Redis(**self._connection), link.name)
        return Publisher(redis.Redis(**self._connection), link.name)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(redis.Redis(**self._connection), link.name)

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        return asyncio_ends.Subscription(redis.asyncio.Redis(**self._connection), link.name, on_frame)
