"""The adapter for Unix stream sockets in Python; ../../_streams/README.md describes the frames and how they are
sent."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import AdapterError, Link

from ..._streams.python.sending import Publisher, set_buffer
from ..._streams.python.streams import Client, Server, Subscriber

LONGEST_PATH = 107


class Named:
    """A link end whose address is a socket file."""

    address: str

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        Path(self.address).unlink()


class FilePublisher(Named, Publisher):
    pass


class FileServer(Named, Server):
    pass


class Transport(BaseTransport):
    path = "Unix sockets"

    @staticmethod
    def version() -> str:
        kernel = os.uname()
        return f"{kernel.sysname} {kernel.release}"

    def publisher(self, link: Link) -> Publisher:
        return FilePublisher(link, *self._listen(link), self._set_buffer)

    def server(self, link: Link) -> Server:
        return FileServer(link, *self._listen(link), self._set_buffer)

    def _listen(self, link: Link) -> tuple[socket.socket, str]:
        path = str(Path(self.setup.directory, f"{link.name}.sock"))
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise AdapterError(
                f"the path {path} is too long for a socket", "choose a results folder with a shorter path (--out)"
            )
        listener = self._socket()
        listener.bind(path)
        listener.listen(128)
        return listener, path

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(link, self._connect(link.address))

    def client(self, link: Link) -> Client:
        return Client(link, self._connect(link.address))

    def _connect(self, address: str) -> socket.socket:
        connection = self._socket()
        connection.connect(address)
        return connection

    def _socket(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._set_buffer(made)
        return made

    def _set_buffer(self, made: socket.socket) -> None:
        """Set the send buffer of an accepted connection, because the connection does not inherit the buffer size of the
        listening socket."""
        set_buffer(made, socket.SO_SNDBUF, self.settings["send_buffer"], "net.core.wmem_max")
