"""The adapter for nng in Python. ../README.md describes the sockets and the wire format.

The adapter uses pynng's low-level functions, because pynng's `send` and `recv` copy.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Any

import pynng
from pynng import ffi, lib

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Handle, Link, Setup, network_device

LONGEST_CALL_S = 1.0  # how long an unanswered call prevents a new call
LONGEST_REPLY_MS = 100  # if REP refuses a reply, REP also forgets the client, so the reply cannot be sent later
PATHS = {"ipc": "Unix sockets", "tcp": "tcp on {}", "inproc": "memory of this process"}
ENVELOPE_BYTES = 256
"""The maximum number of bytes that nng adds to a frame, for call ids."""
HERE = f"inproc://hopmeter/{os.getpid()}/"


class Message:
    """A received nng message. Deleting a `Message` frees the message's memory."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self.frame = ffi.buffer(lib.nng_msg_body(message), lib.nng_msg_len(message))

    def __del__(self) -> None:
        lib.nng_msg_free(self._message)


class End:
    """A socket of any protocol."""

    def __init__(self, socket: pynng.Socket, link: Link, address: str = "") -> None:
        self.address = address
        self._socket = socket
        self._handle = socket.socket
        self._received = ffi.new("nng_msg **")
        self._readable: select.poll | None = None
        self._spins = link.wait == "spin"

    def send(self, payload_bytes: int, fill: Fill, flags: int = lib.NNG_FLAG_NONBLOCK) -> bool:
        allocated = ffi.new("nng_msg **")
        pynng.check_err(lib.nng_msg_alloc(allocated, HEADER_BYTES + payload_bytes))
        message = allocated[0]
        code = lib.NNG_ECANCELED
        try:
            fill(ffi.buffer(lib.nng_msg_body(message), HEADER_BYTES + payload_bytes))
            code = lib.nng_sendmsg(self._handle, message, flags)
        finally:
            if code != 0:  # on success, nng owns the message
                lib.nng_msg_free(message)
        if code in (lib.NNG_EAGAIN, lib.NNG_ETIMEDOUT):
            return False
        pynng.check_err(code)
        return True

    def poll(self, timeout_s: float, take: Callable[[Any], None]) -> int:
        message = self.receive(timeout_s)
        if message is None:
            return 0
        take(message.frame)
        return 1

    def receive(self, timeout_s: float) -> Message | None:
        if not self._spins and not self._wait(timeout_s):
            return None
        code = lib.nng_recvmsg(self._handle, self._received, lib.NNG_FLAG_NONBLOCK)
        if code == lib.NNG_EAGAIN:
            return None
        pynng.check_err(code)
        return Message(self._received[0])

    def _wait(self, timeout_s: float) -> bool:
        """Wait in `poll`, because nng's own timeout ends the whole call of a REQ socket."""
        if self._readable is None:
            self._readable = select.poll()
            self._readable.register(self._socket.recv_fd, select.POLLIN)
        return bool(self._readable.poll(timeout_s * 1000))

    def close(self) -> None:
        self._socket.close()


class Client(End):
    """The client of an rpc link. A REQ socket supports only one call at a time, because a new call makes nng drop the
    current call. A new call is busy until the reply to the current call has arrived or the current call has timed
    out."""

    _started: float | None = None
    _late: Message | None = None

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        if self._started is not None and not self._is_over(self._started):
            return False
        accepted = self.send(payload_bytes, fill)
        self._started = time.monotonic() if accepted else None
        return accepted

    def _is_over(self, started: float) -> bool:
        """Return whether the current call is over: its reply is stored, or the call has timed out."""
        if self._late is None:
            self._late = super().receive(0)
            if self._late is not None:
                return True
        return time.monotonic() - started >= LONGEST_CALL_S

    def receive(self, timeout_s: float) -> Message | None:
        message, self._late = self._late, None
        if message is not None:
            return message
        if self._started is None:  # nng reports an error for a receive without a current call
            if not self._spins:
                time.sleep(timeout_s)
            return None
        message = super().receive(timeout_s)
        if message is not None:
            self._started = None
        return message


class Server(End):
    def poll(self, timeout_s: float, handle: Handle) -> int:
        return super().poll(timeout_s, lambda frame: handle(frame, self._reply))

    def _reply(self, payload_bytes: int, fill: Fill) -> bool:
        """Send a reply. A reply that cannot be sent before the timeout is lost, like a reply to a disconnected
        client."""
        self.send(payload_bytes, fill, 0)
        return True


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = PATHS[self.settings["endpoint"]].format(network_device(self.setup))
        self._pushes = self.settings["protocol"] == "push"

    @staticmethod
    def version() -> str:
        return f"libnng {ffi.string(lib.nng_version()).decode()}, pynng {pynng.__version__}"

    def publisher(self, link: Link) -> End:
        if self._pushes and link.receivers > 1:
            what = f"PUSH sends each frame to only one receiver, but {link.name} has several"
            raise AdapterError(what, 'use protocol = "pub"')
        socket = self._open(pynng.Push0 if self._pushes else pynng.Pub0, link)
        if self.settings["send_buffer"] >= 0:
            socket.send_buffer_size = self.settings["send_buffer"]
        return End(socket, link, self._bind(socket, link))

    def subscriber(self, link: Link) -> End:
        socket = self._open(pynng.Pull0 if self._pushes else pynng.Sub0, link)
        if not self._pushes:
            socket.subscribe(b"")
            socket.recv_buffer_size = self.settings["receive_buffer"]
        return End(self._connect(socket, link), link)

    def server(self, link: Link) -> Server:
        socket = self._open(pynng.Rep0, link)
        socket.send_timeout = LONGEST_REPLY_MS
        return Server(socket, link, self._bind(socket, link))

    def client(self, link: Link) -> Client:
        return Client(self._connect(self._open(pynng.Req0, link), link), link)

    def _open(self, protocol: Callable[..., pynng.Socket], link: Link) -> pynng.Socket:
        """Open a socket that accepts messages up to the link's frame size. nng closes a connection that delivers a
        larger message; nng's default limit is 1 MiB.
        """
        return protocol(recv_max_size=link.frame_bytes + ENVELOPE_BYTES)

    def _bind(self, socket: pynng.Socket, link: Link) -> str:
        kinds = {"ipc": f"ipc://{self.setup.directory}/{link.name}.nng", "tcp": f"tcp://{self.setup.bind}:0"}
        url = kinds.get(self.settings["endpoint"], HERE + link.name)
        try:
            listener = socket.listen(url)
        except pynng.NNGException as refused:
            remedy = "set TMPDIR to a folder with a shorter path, if the socket's path is longer than 100 characters"
            raise AdapterError(f"nng cannot listen at {url}", remedy) from refused
        if not url.startswith("tcp"):
            return url
        return f"tcp://{self.setup.advertised}:{str(listener.local_address).rpartition(':')[2]}"

    def _connect(self, socket: pynng.Socket, link: Link) -> pynng.Socket:
        """Connect, and wait for the connection. nng reconnects later if the connection breaks."""
        if link.address.startswith("inproc:") and not link.address.startswith(HERE):
            what = f"inproc connects only ends of one process, but the other end of {link.name} is outside"
            raise AdapterError(what, 'use placement = "thread", or endpoint = "ipc"')
        socket.dial(link.address, block=True)
        return socket
