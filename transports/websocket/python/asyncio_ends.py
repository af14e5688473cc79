"""The wait `callback`: link ends with the asyncio API of websockets, in an event loop on its own thread, as in Python
services. ../README.md describes the wire format."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.asyncio.server import Server as LibraryServer
from websockets.asyncio.server import ServerConnection, serve, unix_serve
from websockets.exceptions import ConnectionClosed

from hopmeter.node.buffers import write_frame
from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import Fill, Link, Setup, Take
from hopmeter.node.credentials import client_context, server_context
from hopmeter.node.event_loop import EventLoop, Outbox, Receiver, endpoint_loop

from .connections import options, url_of


class ListeningEnd:
    """The library's server, which the link ends of an endpoint run in one event loop."""

    def __init__(self, setup: Setup, link: Link, handler: Callable[[ServerConnection], Awaitable[None]]) -> None:
        self._loop, self._is_open = endpoint_loop(), True
        is_unix = setup.settings["endpoint"] == "unix"
        self._file = Path(setup.directory, f"{link.name}.ws") if is_unix else None
        self._server = self._loop.run(self._listen(setup, handler))
        port = next(iter(self._server.sockets)).getsockname()[1]
        self.address = f"{setup.advertised}:{port}" if self._file is None else str(self._file)

    async def _listen(self, setup: Setup, handler: Callable[[ServerConnection], Awaitable[None]]) -> LibraryServer:
        if self._file is not None:
            return await unix_serve(handler, self._file, **options(setup))
        return await serve(handler, setup.bind, 0, ssl=server_context(setup), **options(setup))

    async def _stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.run(self._stop())
            self._loop.close()
            if self._file is not None:
                self._file.unlink(missing_ok=True)


class Publisher(ListeningEnd):
    """The sending end, a server to which every subscriber connects."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._receivers: list[ServerConnection] = []
        super().__init__(setup, link, self._keep)
        self._outbox = Outbox(self._loop)

    async def _keep(self, connection: ServerConnection) -> None:
        self._receivers.append(connection)
        await connection.wait_closed()
        self._receivers.remove(connection)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self._outbox.is_ready and self._outbox.put(self._deliver(write_frame(payload_bytes, fill)))

    def forward(self, native: bytes) -> bool:
        return self._outbox.is_ready and self._outbox.put(self._deliver(native))

    async def _deliver(self, message: bytes) -> None:
        for receiver in tuple(self._receivers):
            with contextlib.suppress(ConnectionClosed):
                await receiver.send(message)


class ConnectingEnd:
    """A connection to a publisher or a server."""

    def __init__(self, setup: Setup, link: Link, loop: EventLoop, take: Callable[[bytes], object]) -> None:
        self._loop, self._take = loop, take
        self._connection = loop.run(self._connect(setup, link))
        self._receiver = Receiver(loop, self._receive)

    async def _connect(self, setup: Setup, link: Link) -> ClientConnection:
        given: dict[str, Any] = {"proxy": None, **options(setup)}
        if setup.settings["endpoint"] == "unix":
            return await unix_connect(link.address, url_of(setup, link), **given)
        return await connect(url_of(setup, link), ssl=client_context(setup), **given)

    async def _receive(self) -> None:
        try:
            message = await self._connection.recv(decode=False)
        except ConnectionClosed as gone:
            raise EOFError from gone
        self._take(message)

    def close(self) -> None:
        self._receiver.close()
        self._loop.run(self._connection.close())
        self._loop.close()


class Subscription(ConnectingEnd):
    def __init__(self, setup: Setup, link: Link, on_frame: Take) -> None:
        super().__init__(setup, link, endpoint_loop(), lambda message: on_frame(message, native=message))


class Client(ConnectingEnd):
    """A client. A task of the client in the event loop puts the replies into a queue."""

    def __init__(self, setup: Setup, link: Link) -> None:
        replies = ReplyQueue()
        self.poll = replies.poll
        super().__init__(setup, link, EventLoop(), lambda message: replies.put((message,)))
        self._outbox = Outbox(self._loop)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return self._outbox.is_ready and self._outbox.put(self._send(write_frame(payload_bytes, fill)))

    async def _send(self, request: bytes) -> None:
        with contextlib.suppress(ConnectionClosed):  # the call is lost, as with any other transport
            await self._connection.send(request)


class Server(CalledServer, ListeningEnd):
    """A server. The library runs a task for each connection."""

    def __init__(self, setup: Setup, link: Link) -> None:
        CalledServer.__init__(self, write_frame)
        ListeningEnd.__init__(self, setup, link, self._answer_all)

    async def _answer_all(self, connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                reply = self.answer(await connection.recv(decode=False))
                if reply is not None:
                    await connection.send(reply)

    def close(self) -> None:
        CalledServer.close(self)
        ListeningEnd.close(self)
