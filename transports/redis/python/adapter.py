"""The adapter for Redis with redis-py: channels through a broker. ../README.md describes the wire format."""

from __future__ import annotations

from typing import Any

import redis
import redis.asyncio

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import HEADER_BYTES, Closable, Fill, Link, Setup, Take
from hopmeter.node.credentials import connection_kind, credential, uses_tls

from . import asyncio_ends, streams


def tls_options(setup: Setup) -> dict[str, Any]:
    """Return the arguments of an encrypted connection. Such a client trusts only brokers with a certificate of this
    trial."""
    return {"ssl": True, "ssl_ca_certs": str(credential(setup, "ca.pem")), "ssl_check_hostname": True}


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
        self._tls = tls_options(setup) if uses_tls(setup) else {}
        stream = "a stream of " if self.settings["durable"] else ""
        self.path = f"{'Unix socket' if self._is_unix else connection_kind(setup)} through {stream}redis-server"

    @property
    def _connection(self) -> dict[str, Any]:
        """Return the arguments of one link end's connection, which is made when its first command is sent."""
        credentials, _, place = self._tcp.rpartition("@")
        user, _, password = credentials.partition(":")
        known = {"username": user, "password": password} if credentials else {}
        if self._is_unix:
            return {"unix_socket_path": self._unix, **known}
        host, _, port = place.partition(":")
        return {"host": host, "port": int(port), **known, **self._tls}

    def publisher(self, link: Link) -> Closable:
        if link.wait == "callback":
            client = redis.asyncio.Redis(**self._connection)
            if self.settings["durable"]:
                return streams.LoopPublisher(client, link, self.settings)
            return asyncio_ends.Publisher(client, link.name)
        if self.settings["durable"]:
            return streams.Publisher(redis.Redis(**self._connection), link, self.settings)
        return Publisher(redis.Redis(**self._connection), link.name)

    def subscriber(self, link: Link) -> Subscriber | streams.Subscriber:
        client = redis.Redis(**self._connection)
        return (
            streams.Subscriber(client, link, self.settings)
            if self.settings["durable"]
            else Subscriber(client, link.name)
        )

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        client = redis.asyncio.Redis(**self._connection)
        if self.settings["durable"]:
            return streams.LoopSubscription(client, link, self.settings, on_frame)
        return asyncio_ends.Subscription(client, link.name, on_frame)
