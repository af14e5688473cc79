"""The adapter for Cap'n Proto RPC in Python, with pycapnp. ../README.md describes the interfaces.

pycapnp runs in an asyncio event loop, which also calls the callbacks. All publishers and subscribers of an endpoint
share one event loop. Each client and each server has a separate event loop. Each event loop has its own thread. With
`block`, a queue passes messages from the event loop to the endpoint's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import capnp

from hopmeter.node.base import BaseTransport, opens, package_version
from hopmeter.node.buffers import write_frame
from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import Fill, Link, Setup, Take, network_device
from hopmeter.node.event_loop import endpoint_loop
from hopmeter.node.handover import path_fact

from .connections import IDL, ConnectingEnd, KjLoop, ListeningEnd

WINDOW_BYTES = 65536
"""A publisher is busy if this many bytes, plus its largest frame, are on the way to its receivers. The value is the
default window of capnp-rpc. pycapnp itself has no flow control for streaming calls."""
MOST_FRAMES = 16
"""If the queue of a polled subscriber contains this many frames, calls do not return, so that publishers wait."""
FAREWELL_S, PAUSE_S = 0.1, 0.001
"""The longest time that a closing publisher waits for its frames to be sent, and the pause between two checks."""


class Topic(IDL.Topic.Server):
    def __init__(self, receivers: list[Any]) -> None:
        self._receivers = receivers

    async def subscribe(self, receiver: Any, **_context: Any) -> None:
        self._receivers.append(receiver)


class Publisher(ListeningEnd):
    def __init__(self, transport: Transport, link: Link) -> None:
        self._receivers: list[Any] = []
        self._handed = self._delivered = self._largest = 0
        super().__init__(transport.setup, link, endpoint_loop(KjLoop), Topic(self._receivers))

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self._is_ready and self._pass_on(write_frame(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        return self._is_ready and self._pass_on(native)

    @property
    def _is_ready(self) -> bool:
        return self._loop.is_here or self._handed - self._delivered < WINDOW_BYTES + self._largest

    def _pass_on(self, frame: bytes) -> bool:
        self._handed += len(frame)
        self._largest = max(self._largest, len(frame))
        if self._loop.is_here:
            self._loop.send_later(self._deliver(frame))
        else:
            self._loop.start(self._deliver(frame))
        return True

    async def _deliver(self, frame: bytes) -> None:
        """Call every receiver, and wait until all of them have returned. A receiver whose call fails has
        disconnected."""
        try:
            for receiver, call in [(each, each.deliver(frame)) for each in self._receivers]:
                try:
                    await call
                except capnp.KjException:
                    if receiver in self._receivers:
                        self._receivers.remove(receiver)
        finally:
            self._delivered += len(frame)

    def close(self) -> None:
        """Wait until the frames are sent, but not long, and close the publisher."""
        deadline = time.monotonic() + FAREWELL_S
        while not self._loop.is_here and self._delivered < self._handed and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        super().close()

    async def _stop(self) -> None:
        await super()._stop()
        self._receivers.clear()  # on the thread of the event loop, to which the capabilities belong


class Receiver(IDL.Receiver.Server):
    def __init__(self, take: Callable[[bytes], Awaitable[None]]) -> None:
        self._take = take

    async def deliver(self, frame: bytes, **_context: Any) -> None:
        await self._take(frame)


class ReceivingEnd(ConnectingEnd):
    """A subscriber. Its event loop awaits `take` for each frame."""

    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(setup, link, endpoint_loop(KjLoop))

    def use(self, offer: Any) -> None:
        self._subscribing = asyncio.ensure_future(self._subscribe(offer))

    async def _subscribe(self, offer: Any) -> None:
        with contextlib.suppress(capnp.KjException):  # the publisher has disconnected
            await offer.cast_as(IDL.Topic).subscribe(Receiver(self.take))

    async def take(self, frame: bytes) -> None:
        """Take a frame, and return when there is room for the next one."""
        raise NotImplementedError


class Subscription(ReceivingEnd):
    """A subscriber whose event loop calls the callback."""

    def __init__(self, setup: Setup, link: Link, on_frame: Take) -> None:
        self._on_frame = on_frame
        super().__init__(setup, link)

    async def take(self, frame: bytes) -> None:
        self._on_frame(frame, native=frame)
        await self._loop.finish_sends()


class Subscriber(ReceivingEnd):
    """A subscriber that is polled."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._room, self._is_full = asyncio.Event(), False
        super().__init__(setup, link)

    async def take(self, frame: bytes) -> None:
        self._frames.put(frame)
        while self._frames.qsize() >= MOST_FRAMES:
            self._room.clear()
            self._is_full = True
            if self._frames.qsize() >= MOST_FRAMES:
                await self._room.wait()

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            frame = self._frames.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        if self._is_full:
            self._is_full = False
            self._loop.call(self._room.set)
        take(frame, native=frame)
        return 1


class Client(ConnectingEnd):
    """A client. It has its own event loop, because a server's callback may wait for the reply."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._replies = ReplyQueue()
        self.poll = self._replies.poll
        super().__init__(transport.setup, link, KjLoop())

    def use(self, offer: Any) -> None:
        self._service = offer.cast_as(IDL.Service)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        self._loop.start(self._call(write_frame(payload_bytes, fill)))
        return True

    async def _call(self, request: bytes) -> None:
        """Make a call. A call that fails because its server has disconnected counts as unanswered."""
        try:
            response = await self._service.call(request)
        except capnp.KjException:
            return
        self._replies.put((response.reply,))

    async def _disconnect(self) -> None:
        await super()._disconnect()
        del self._service  # on the thread of the event loop, to which the capability belongs


class Service(IDL.Service.Server):
    def __init__(self, answer: Callable[[bytes], Awaitable[bytes]]) -> None:
        self._answer = answer

    async def call(self, request: bytes, **_context: Any) -> bytes:
        return await self._answer(request)


class Server(ListeningEnd):
    """A server that is polled."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._requests = ReplyQueue()
        self.poll = self._requests.poll
        super().__init__(setup, link, KjLoop(), Service(self._queue))

    async def _queue(self, request: bytes) -> bytes:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._requests.put((request, partial(self._reply, answer)))
        return await answer

    def _reply(self, answer: asyncio.Future[bytes], payload_bytes: int, fill: Fill) -> bool:
        self._loop.call(_set_result, answer, write_frame(payload_bytes, fill))
        return True


def _set_result(answer: asyncio.Future[bytes], reply: bytes) -> None:
    """Pass a reply to its call, unless the client has disconnected."""
    if not answer.done():
        answer.set_result(reply)


class AsyncServer(CalledServer, ListeningEnd):
    """A server whose event loop calls the handler."""

    def __init__(self, setup: Setup, link: Link) -> None:
        CalledServer.__init__(self, write_frame)
        ListeningEnd.__init__(self, setup, link, KjLoop(), Service(self._respond))

    async def _respond(self, request: bytes) -> bytes:
        reply: bytes | None = self.answer(request)
        if reply is None:
            raise RuntimeError("not answered")
        return reply

    def close(self) -> None:
        CalledServer.close(self)
        ListeningEnd.close(self)


class Transport(BaseTransport):
    version = package_version("pycapnp", "pycapnp")
    publisher = opens(Publisher)
    client = opens(Client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._blocks = False
        is_unix = self.settings["endpoint"] == "unix"
        self.path = f"Cap'n Proto RPC over {'Unix sockets' if is_unix else f'TCP on {network_device(setup)}'}"

    def subscriber(self, link: Link) -> Subscriber:
        self._blocks = True
        return Subscriber(self.setup, link)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self.setup, link, on_frame)

    def server(self, link: Link) -> Server | AsyncServer:
        if link.wait == "callback":
            return AsyncServer(self.setup, link)
        self._blocks = True
        return Server(self.setup, link)

    def facts(self) -> dict[str, str]:
        return {"path": path_fact(self.path, self._blocks)}
