"""The adapter for ZeroMQ in Python (pyzmq); ../README.md describes the sockets and the wire format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from hopmeter.node.base import BaseTransport
from hopmeter.node.buffers import BufferPool
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Closable, Fill, Handle, Link, Setup, Take, network_device
from hopmeter.node.credentials import credential

SHARED_FROM_BYTES = zmq.COPY_THRESHOLD  # pyzmq copies messages below 64 KiB itself
NOBLOCK = int(zmq.NOBLOCK)
PATHS = {"ipc": "Unix sockets", "tcp": "TCP on {}", "inproc": "memory of this process"}
CURVE_BYTES = 1024  # how much larger than a frame a message may be, for CURVE's handshake and additions
HERE = f"inproc://{os.getpid()}/"  # the prefix of all addresses within this process

Frame = zmq.Frame | bytes


class End:
    """A polled message socket. A large message crosses the socket without a copy; a small message is passed as `bytes`,
    which are faster in pyzmq."""

    def __init__(self, socket: zmq.Socket[Any], link: Link, file: Path | None = None, advertised: str = "") -> None:
        self._socket, self._file, self._advertised = socket, file, advertised
        self._recv, self._send = socket.recv, socket.send
        self._flags = NOBLOCK if link.wait == "spin" else 0
        self._copies = link.frame_bytes < SHARED_FROM_BYTES
        self._pool = BufferPool(link.frame_bytes, SHARED_FROM_BYTES)
        self._timeout_s = -1.0

    @property
    def address(self) -> str:
        bound = self._socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")
        is_tcp = bound.startswith("tcp:")
        return f"tcp://{self._advertised}:{bound.rpartition(':')[2]}" if is_tcp else bound

    def send_frame(self, payload_bytes: int, fill: Fill, client: Frame | None = None) -> bool:
        """Send a new frame. pyzmq copies small frames, and ZeroMQ reads large frames in place."""
        frame = self._pool.take(HEADER_BYTES + payload_bytes)
        if frame is None:
            return False
        fill(frame)
        is_shared, tracker = frame is not self._pool.small, None
        try:
            if client is not None:
                self._send(client, zmq.SNDMORE | zmq.NOBLOCK)
            tracker = self._send(frame, zmq.NOBLOCK, copy=not is_shared, track=is_shared)
        except zmq.Again:
            return False
        finally:
            if is_shared:
                self._pool.used.append((frame, tracker))
        return True

    def close(self) -> None:
        self._socket.close()
        if self._file is not None:
            self._file.unlink(missing_ok=True)  # ZeroMQ does not remove the file itself


class Publisher(End):
    send = End.send_frame

    def forward(self, native: Frame) -> bool:
        try:
            self._send(native, NOBLOCK, self._copies)
        except zmq.Again:
            return False
        return True


class Subscriber(End):
    def poll(self, timeout_s: float, take: Take) -> int:
        if timeout_s != self._timeout_s:
            self._socket.rcvtimeo = max(1, round(timeout_s * 1000))
            self._timeout_s = timeout_s
        try:
            frame = self._recv(self._flags, self._copies)
        except zmq.Again:
            return 0
        take(frame, native=frame)
        return 1

    def subscribe(self, on_frame: Take) -> Closable:
        """Call `on_frame` from an event loop. The module imports asyncio only for this wait, because the import is
        slow."""
        from .asyncio_ends import CalledEnd

        async def receive(socket: Any) -> None:
            frame = await socket.recv(copy=self._copies)
            on_frame(frame, native=frame)

        return CalledEnd(self._socket, receive, owner=self)


class Client(Subscriber):
    start = End.send_frame


class Server(Subscriber):
    """The server of an rpc link. Each request is preceded by a message part that identifies the client."""

    def poll(self, timeout_s: float, handle: Handle) -> int:
        return super().poll(timeout_s, lambda client, **_: handle(self._recv(0, self._copies), self._reply_to(client)))

    def serve(self, on_request: Handle) -> Closable:
        """Call `on_request` from an event loop. The instrument closes this server after the event loop has ended."""
        from .asyncio_ends import CalledEnd

        async def receive(socket: Any) -> None:
            client, request = await socket.recv_multipart(copy=self._copies)
            on_request(request, self._reply_to(client))

        return CalledEnd(self._socket, receive, owner=None)

    def _reply_to(self, client: Frame) -> Callable[[int, Fill], bool]:
        def reply(payload_bytes: int, fill: Fill) -> bool:
            try:
                return self.send_frame(payload_bytes, fill, client)
            except zmq.ZMQError as gone:
                if gone.errno != zmq.EHOSTUNREACH:
                    raise
                return True  # the client has disconnected: its reply is lost, as with any other transport

        return reply


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._is_secure = self.settings["security"] == "curve"
        path = PATHS[self.settings["endpoint"]].format(network_device(setup))
        self.path = f"{path} with CURVE" if self._is_secure else path
        self._context: zmq.Context[Any] = zmq.Context(io_threads=setup.settings["io_threads"])

    @staticmethod
    def version() -> str:
        return f"libzmq {zmq.zmq_version()}, pyzmq {zmq.pyzmq_version()}"

    def publisher(self, link: Link) -> Publisher:
        return self._bind(Publisher, link, zmq.PUB, zmq.XPUB_NODROP, int(self.settings["nodrop"]))

    def subscriber(self, link: Link) -> Subscriber:
        return self._connect(Subscriber, link, zmq.SUB, zmq.SUBSCRIBE, b"")

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        return self.subscriber(link).subscribe(on_frame)

    def server(self, link: Link) -> Server:
        # With this option, ZeroMQ reports a full queue instead of silently dropping the message.
        return self._bind(Server, link, zmq.ROUTER, zmq.ROUTER_MANDATORY, 1)

    def client(self, link: Link) -> Client:
        return self._connect(Client, link, zmq.DEALER)

    def _bind(self, end: type[Any], link: Link, *socket_type: Any) -> Any:
        socket = self._socket(link, *socket_type)
        if self._is_secure:
            socket.curve_server = True
            socket.curve_secretkey = self._key("server.secret")
        endpoint, path = self.settings["endpoint"], Path(self.setup.directory, f"{link.name}.zmq")
        urls = {"ipc": f"ipc://{path}", "tcp": f"tcp://{self.setup.bind}:*", "inproc": HERE + link.name}
        socket.bind(urls[endpoint])
        file = path if endpoint == "ipc" else None
        return end(socket, link, file, self.setup.advertised)

    def _connect(self, end: type[Any], link: Link, *socket_type: Any) -> Any:
        if link.address.startswith("inproc:") and not link.address.startswith(HERE):
            what = f"inproc connects only ends of one process, but the other end of {link.name} is outside"
            raise AdapterError(what, 'use placement = "thread", or endpoint = "ipc"')
        socket = self._socket(link, *socket_type)
        if self._is_secure:
            socket.curve_serverkey = self._key("server.public")
            socket.curve_publickey, socket.curve_secretkey = self._key("client.public"), self._key("client.secret")
        socket.connect(link.address)
        return end(socket, link)

    def _key(self, name: str) -> bytes:
        return credential(self.setup, name).read_bytes()

    def _socket(self, link: Link, kind: int, *option: Any) -> zmq.Socket[Any]:
        socket = self._context.socket(kind)
        socket.linger = 0
        margin = CURVE_BYTES if self._is_secure else 0
        socket.setsockopt(zmq.MAXMSGSIZE, link.frame_bytes + margin)  # otherwise memory use would be unlimited
        socket.set_hwm(self.settings["hwm"])
        if option:
            socket.setsockopt(*option)
        return socket

    def close(self) -> None:
        self._context.term()
