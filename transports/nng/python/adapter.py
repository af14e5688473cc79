"""nng in Python (pynng); ../README.md describes sockets and wire format."""

from __future__ import annotations

import os
from collections.abc import Callable

import pynng
from pynng import ffi, lib

from hopmeter.node.contract import AdapterError, Link, Setup, host

from .ends import Client, Publisher, Server, Subscriber

LONGEST_REPLY_MS = 100  # REP forgets the client when it refuses a reply, so a reply cannot be offered again
PATHS = {"ipc": "Unix sockets", "tcp": "tcp on the loopback device", "inproc": "memory of this process"}
HERE = f"inproc://hopmeter/{os.getpid()}/"


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._pushes = setup.settings["protocol"] == "push"

    @staticmethod
    def version() -> str:
        return f"libnng {ffi.string(lib.nng_version()).decode()}, pynng {pynng.__version__}"

    def publisher(self, link: Link) -> Publisher:
        if self._pushes and link.receivers > 1:
            raise AdapterError(
                f"PUSH gives each frame to one receiver, and {link.name} has several", 'use protocol = "pub"'
            )
        socket = self._open(pynng.Push0 if self._pushes else pynng.Pub0)
        if self._setup.settings["send_buffer"] >= 0:
            socket.send_buffer_size = self._setup.settings["send_buffer"]
        return Publisher(socket, self._setup, self._bind(socket, link))

    def subscriber(self, link: Link) -> Subscriber:
        socket = self._open(pynng.Pull0 if self._pushes else pynng.Sub0)
        if not self._pushes:
            socket.subscribe(b"")
            socket.recv_buffer_size = self._setup.settings["receive_buffer"]
        return Subscriber(self._connect(socket, link), self._setup)

    def server(self, link: Link) -> Server:
        socket = self._open(pynng.Rep0)
        socket.send_timeout = LONGEST_REPLY_MS
        return Server(socket, self._setup, self._bind(socket, link))

    def client(self, link: Link) -> Client:
        return Client(self._connect(self._open(pynng.Req0), link), self._setup)

    def _open(self, protocol: Callable[..., pynng.Socket]) -> pynng.Socket:
        """Open a socket without a size limit. nng closes connections that send more, by default 1 MiB; 0 is without
        limit."""
        return protocol(recv_max_size=0)

    def _bind(self, socket: pynng.Socket, link: Link) -> str:
        kinds = {"ipc": f"ipc://{self._setup.directory}/{link.name}.nng", "tcp": f"tcp://{host(self._setup)}:0"}
        url = kinds.get(self._setup.settings["endpoint"], HERE + link.name)
        try:
            listener = socket.listen(url)
        except pynng.NNGException as refused:
            remedy = "let TMPDIR name a folder with a shorter path, if this one is longer than 100 characters"
            raise AdapterError(f"nng cannot listen at {url}", remedy) from refused
        return f"tcp://{listener.local_address}" if url.startswith("tcp") else url

    def _connect(self, socket: pynng.Socket, link: Link) -> pynng.Socket:
        """Connect and wait until the connection exists; nng itself reconnects later if necessary."""
        if link.address.startswith("inproc:") and not link.address.startswith(HERE):
            raise AdapterError(
                f"inproc reaches only ends of one process, and the other end of {link.name} is outside",
                'use placement = "thread", or endpoint = "ipc"',
            )
        socket.dial(link.address, block=True)
        return socket

    def facts(self) -> dict[str, str]:
        return {"path": PATHS[self._setup.settings["endpoint"]]}

    def close(self) -> None:
        """Release nothing: every link end is already closed."""
