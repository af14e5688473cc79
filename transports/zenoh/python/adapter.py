"""The adapter for Zenoh in Python (eclipse-zenoh); ../README.md describes sessions, keys and settings."""

from __future__ import annotations

import queue
from typing import Any

import zenoh

from hopmeter.node.base import BaseTransport, opens, package_version
from hopmeter.node.contract import Fill, Handle, Link, Setup, Take, network_device

from .frames import COPIED_FROM_BYTES, Arrivals, Frames
from .sessions import Sessions, Waker

HERE = zenoh.Locality.SESSION_LOCAL
TIMED_OUT = "Timeout"
"""The text with which zenoh ends an unanswered query."""


def key(link: Link) -> str:
    """Return the key of a link, which is the same in every language."""
    return f"hopmeter/{link.name}"


class Publisher:
    def __init__(self, frames: Frames, publisher: zenoh.Publisher, address: str) -> None:
        self.address = address
        self._frames, self._publisher = frames, publisher

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        message = self._frames.write(payload_bytes, fill)
        return message is not None and self.forward(message)

    def forward(self, native: Any) -> bool:
        self._publisher.put(native)
        return True

    def close(self) -> None:
        self._publisher.undeclare()


class Subscriber:
    """A subscriber that blocks in zenoh's own channel."""

    def __init__(self, arrivals: Arrivals, subscriber: Any, waker: Waker) -> None:
        self._arrivals, self._subscriber, self._waker = arrivals, subscriber, waker

    def poll(self, timeout_s: float, take: Take) -> int:
        self._waker.waits += 1
        return self._arrivals.deliver(self._subscriber.recv().payload, take)

    def close(self) -> None:
        self._waker.close()
        self._subscriber.undeclare()


class Called:
    """A subscriber or queryable whose callback runs on a thread of eclipse-zenoh."""

    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def close(self) -> None:
        self._declared.undeclare()


class Client:
    """A client that receives the replies to all its calls in one channel, as in Rust.

    A channel that zenoh itself creates can receive only the replies to a single call.
    """

    def __init__(self, arrivals: Arrivals, frames: Frames, querier: zenoh.Querier) -> None:
        self._arrivals, self._frames, self._querier = arrivals, frames, querier
        self._replies: queue.SimpleQueue[zenoh.Reply] = queue.SimpleQueue()
        self._keep = zenoh.handlers.Callback(self._replies.put, indirect=False)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        message = self._frames.write(payload_bytes, fill)
        if message is None:
            return False
        self._querier.get(self._keep, payload=message)
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            reply = self._replies.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        if reply.ok is not None:
            return self._arrivals.deliver(reply.ok.payload, take)
        return self._check_end(reply.err.payload.to_string())

    @staticmethod
    def _check_end(why: str) -> int:
        """Return 0 if zenoh reports that the query or its reply was dropped, which counts as a lost call. Raise
        RuntimeError if zenoh reports any other error."""
        if why != TIMED_OUT:
            raise RuntimeError(f"zenoh ended a query without a reply: {why}")
        return 0

    def close(self) -> None:
        self._querier.undeclare()


class Server:
    """A server that declares its queryable only when the server knows whether it will be polled."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._session, self.address = transport.sessions.listening_session()
        self._frames, self._arrivals = Frames(transport.setup, link), transport.arrivals
        self._key = key(link)
        self._polled: tuple[Any, Waker] | None = None
        if link.wait != "callback":
            queryable = self._session.declare_queryable(self._key, transport.channel())
            self._polled = queryable, Waker(lambda: self._session.get(self._key, allowed_destination=HERE))

    def poll(self, timeout_s: float, handle: Handle) -> int:
        queryable, waker = self._polled
        waker.waits += 1
        return self._answer(queryable.recv(), handle)

    def serve(self, on_request: Handle) -> Called:
        return Called(self._session.declare_queryable(self._key, lambda query: self._answer(query, on_request)))

    def _answer(self, query: zenoh.Query, handle: Handle) -> int:
        def reply(payload_bytes: int, fill: Fill) -> bool:
            message = self._frames.write(payload_bytes, fill)
            if message is not None:
                query.reply(self._key, message)
            return message is not None

        with query:
            return self._arrivals.deliver(query.payload, lambda frame, **_: handle(frame, reply))

    def close(self) -> None:
        if self._polled is not None:
            queryable, waker = self._polled
            waker.close()
            queryable.undeclare()


class Transport(BaseTransport):
    version = package_version("eclipse-zenoh")
    server = opens(Server)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.sessions = Sessions(setup)
        self.arrivals = Arrivals(self.settings["shared_memory"])
        blocks = self.settings["congestion"] == "block"
        congestion = zenoh.CongestionControl.BLOCK if blocks else zenoh.CongestionControl.DROP
        self._quality = {"congestion_control": congestion, "express": self.settings["express"]}

    def channel(self) -> zenoh.handlers.FifoChannel[Any]:
        return zenoh.handlers.FifoChannel(self.settings["channel"])

    def publisher(self, link: Link) -> Publisher:
        session, address = self.sessions.listening_session()
        return Publisher(Frames(self.setup, link), session.declare_publisher(key(link), **self._quality), address)

    def subscriber(self, link: Link) -> Subscriber:
        session = self.sessions.session_to(link.address)
        subscriber = session.declare_subscriber(key(link), self.channel())
        wake = session.declare_publisher(key(link), allowed_destination=HERE)
        return Subscriber(self.arrivals, subscriber, Waker(lambda: wake.put(b"")))

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        def call(sample: zenoh.Sample) -> None:
            self.arrivals.deliver(sample.payload, on_frame)

        return Called(self.sessions.session_to(link.address).declare_subscriber(key(link), call))

    def client(self, link: Link) -> Client:
        session = self.sessions.session_to(link.address)
        none = zenoh.QueryConsolidation(zenoh.ConsolidationMode.NONE)
        querier = session.declare_querier(key(link), consolidation=none, **self._quality)
        return Client(self.arrivals, Frames(self.setup, link), querier)

    def facts(self) -> dict[str, str]:
        way = f"tcp on {network_device(self.setup)}" if self.sessions.reach_others else "within one session"
        word = self.settings["shared_memory"]
        expected = word == "loan" or (word == "auto" and self.setup.largest_frame_bytes >= COPIED_FROM_BYTES)
        return self.arrivals.facts(way, expected)

    def close(self) -> None:
        self.sessions.close()
