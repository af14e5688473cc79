"""The adapter for QUIC in Python, with aioquic. ../README.md describes the wire format.

aioquic runs in an asyncio event loop, which also calls the callbacks. The link ends of an endpoint share an event loop,
which has a thread of its own. With `block`, a queue without a limit passes messages to the endpoint's thread. A full
queue would stop the event loop, and with it the acknowledgements of all connections.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from functools import partial
from typing import Any

from aioquic.asyncio import connect, serve

from hopmeter.node.base import BaseTransport, opens, package_version
from hopmeter.node.buffers import write_frame
from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import AdapterError, Fill, Link, Setup, Take, network_device
from hopmeter.node.event_loop import EventLoop, endpoint_loop
from hopmeter.node.handover import path_fact

from . import identity
from .connections import LARGEST_DATAGRAM, LENGTH, CallingConnection, Connection, ReceivingConnection, SendingConnection

MOST_UNSENT = 1 << 20
"""The number of unsent bytes above which a publisher is busy: the default size of aioquic's flow-control windows."""
LONGEST_HANDSHAKE_S = 10.0
FAREWELL_S, PAUSE_S = 0.1, 0.002


class ListeningEnd:
    """The UDP socket of a publisher or a server, to which its peers connect."""

    def __init__(self, setup: Setup, create_connection: Callable[..., Connection]) -> None:
        self._loop, self._is_open = endpoint_loop(), True
        configuration, certificate = identity.create(setup)
        listening = serve(setup.bind, 0, configuration=configuration, create_protocol=create_connection)
        try:
            self._server = self._loop.run(listening)
        except OSError:
            self._loop.close()
            raise
        assert self._server._transport is not None
        port = self._server._transport.get_extra_info("sockname")[1]
        self.address = f"{setup.advertised}:{port}/{certificate}"

    async def _stop(self) -> None:
        self._server.close()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.run(self._stop())
            self._loop.close()


class Publisher(ListeningEnd):
    def __init__(self, transport: Transport, link: Link) -> None:
        self._receivers: list[SendingConnection] = []
        self._handed = self._delivered = 0
        self._has_datagrams = transport.settings["datagrams"]
        super().__init__(transport.setup, partial(SendingConnection, self._receivers))

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self._is_ready and self._pass_on(write_frame(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        return self._is_ready and self._pass_on(native)

    @property
    def _is_ready(self) -> bool:
        """Whether the event loop, and aioquic for each receiver, have at most MOST_UNSENT bytes to send."""
        if self._handed - self._delivered > MOST_UNSENT:
            return False
        return all(receiver.unsent_bytes <= MOST_UNSENT for receiver in tuple(self._receivers))

    def _pass_on(self, frame: bytes) -> bool:
        if self._has_datagrams and len(frame) > LARGEST_DATAGRAM:
            what = f"a frame of {len(frame)} bytes does not fit into a QUIC datagram, whose limit is {LARGEST_DATAGRAM}"
            raise AdapterError(what, "send smaller payloads, or leave datagrams = false")
        self._handed += len(frame)
        self._loop.call(self._deliver, frame)
        return True

    def _deliver(self, frame: bytes) -> None:
        self._delivered += len(frame)
        for receiver in tuple(self._receivers):
            if self._has_datagrams:
                receiver.send_datagram(frame)
            else:
                receiver.send_on_stream(LENGTH.pack(len(frame)) + frame)

    async def _stop(self) -> None:
        """Wait for a short time until aioquic has sent all bytes, because closing discards unsent bytes."""
        for _ in range(int(FAREWELL_S / PAUSE_S)):
            if not any(receiver.unsent_bytes for receiver in self._receivers):
                break
            await asyncio.sleep(PAUSE_S)
        await super()._stop()


class ConnectingEnd:
    """A connection to a publisher or a server."""

    def __init__(self, setup: Setup, link: Link, loop: EventLoop, create: Callable[..., Connection]) -> None:
        self._loop = loop
        place, _, certificate = link.address.partition("/")
        host, _, port = place.rpartition(":")
        try:
            configuration = identity.pin(setup, certificate)
            self._context = connect(host, int(port), configuration=configuration, create_protocol=create)
            self._connection: Any = loop.run(self._connect())
        except (OSError, ValueError) as failed:
            loop.close()
            what = f"connecting to {place} with the certificate of its address failed ({failed!r})"
            raise AdapterError(what, "check that the publisher or server runs") from failed

    async def _connect(self) -> Connection:
        entering: Any = self._context.__aenter__()
        return await asyncio.wait_for(entering, LONGEST_HANDSHAKE_S)

    async def _disconnect(self) -> None:
        await self._context.__aexit__(None, None, None)

    def close(self) -> None:
        self._loop.run(self._disconnect())
        self._loop.close()


class Subscription(ConnectingEnd):
    def __init__(self, setup: Setup, link: Link, take: Callable[[bytes], object]) -> None:
        super().__init__(setup, link, endpoint_loop(), partial(ReceivingConnection, link.frame_bytes, take))


class Subscriber(Subscription):
    """A subscriber that is polled."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        super().__init__(setup, link, self._frames.put)

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            frame = self._frames.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        take(frame, native=frame)
        return 1


class Client(ConnectingEnd):
    """A client with an event loop of its own. The event loop puts the replies into a queue."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._replies = ReplyQueue()
        self.poll = self._replies.poll
        create = partial(CallingConnection, link.frame_bytes, self._take)
        super().__init__(transport.setup, link, EventLoop(), create)

    def _take(self, _connection: CallingConnection, _stream_id: int, reply: bytes) -> None:
        self._replies.put((reply,))

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        self._loop.call(self._connection.call, write_frame(payload_bytes, fill))
        return True


class Server(ListeningEnd):
    """A server that is polled."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._requests = ReplyQueue()
        self.poll = self._requests.poll
        super().__init__(setup, partial(CallingConnection, link.frame_bytes, self._put))

    def _put(self, connection: CallingConnection, stream_id: int, request: bytes) -> None:
        self._requests.put((request, partial(self._reply, connection, stream_id)))

    def _reply(self, connection: CallingConnection, stream_id: int, payload_bytes: int, fill: Fill) -> bool:
        self._loop.call(connection.respond, stream_id, write_frame(payload_bytes, fill))
        return True


class AsyncServer(CalledServer, ListeningEnd):
    """A server whose event loop calls the handler."""

    def __init__(self, setup: Setup, link: Link) -> None:
        CalledServer.__init__(self, write_frame)
        ListeningEnd.__init__(self, setup, partial(CallingConnection, link.frame_bytes, self._respond))

    def _respond(self, connection: CallingConnection, stream_id: int, request: bytes) -> None:
        reply = self.answer(request)
        if reply is None:
            connection.reset(stream_id)
        else:
            connection.respond(stream_id, reply)

    def close(self) -> None:
        CalledServer.close(self)
        ListeningEnd.close(self)


class Transport(BaseTransport):
    version = package_version("aioquic", "aioquic")
    publisher = opens(Publisher)
    client = opens(Client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._blocks = False
        carrier = "datagrams" if self.settings["datagrams"] else "streams"
        self.path = f"QUIC {carrier} over UDP on {network_device(setup)}"

    def subscriber(self, link: Link) -> Subscriber:
        self._blocks = True
        return Subscriber(self.setup, link)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self.setup, link, lambda frame: on_frame(frame, native=frame))

    def server(self, link: Link) -> Server | AsyncServer:
        if link.wait == "callback":
            return AsyncServer(self.setup, link)
        self._blocks = True
        return Server(self.setup, link)

    def facts(self) -> dict[str, str]:
        return {"path": path_fact(self.path, self._blocks)}
