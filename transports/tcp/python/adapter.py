"""The adapter for TCP in Python; ../../_streams/README.md describes the frames and how they are sent."""

from __future__ import annotations

import errno
import os
import socket

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import AdapterError, Link, Setup, network_device

from ..._streams.python.sending import Publisher, set_buffer
from ..._streams.python.streams import Client, Server, Subscriber


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = f"TCP on {network_device(setup)}"

    @staticmethod
    def version() -> str:
        kernel = os.uname()
        return f"{kernel.sysname} {kernel.release}"

    def publisher(self, link: Link) -> Publisher:
        return Publisher(link, *self._listen())

    def server(self, link: Link) -> Server:
        return Server(link, *self._listen())

    def _listen(self) -> tuple[socket.socket, str]:
        listener = self._socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._bind(listener, self.settings["port"])
        listener.listen(128)
        return listener, f"{self.setup.advertised}:{listener.getsockname()[1]}"

    def _bind(self, listener: socket.socket, port: int) -> None:
        try:
            listener.bind((self.setup.bind, port))
        except OSError as cause:
            if cause.errno != errno.EADDRINUSE:
                raise
            remedy = "use `--set port=0`, which selects a free port, or end the program that uses the port"
            raise AdapterError(f"port {port} of {self.setup.bind} is taken", remedy) from cause

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(link, self._connect(link.address))

    def client(self, link: Link) -> Client:
        return Client(link, self._connect(link.address))

    def _connect(self, address: str) -> socket.socket:
        peer, port = address.rsplit(":", 1)
        connection = self._socket()
        connection.connect((peer, int(port)))
        return connection

    def _socket(self) -> socket.socket:
        settings = self.settings
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        set_buffer(made, socket.SO_SNDBUF, settings["send_buffer"], "net.core.wmem_max")
        set_buffer(made, socket.SO_RCVBUF, settings["receive_buffer"], "net.core.rmem_max")
        return made
