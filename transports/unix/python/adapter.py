"""Unix stream sockets in Python; the frames and how they are sent: ../../_streams/README.md."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from hopmeter.node.contract import AdapterError, Link, Setup

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_streams" / "python"))
from streams import Publisher, Subscriber, set_buffer

LONGEST_PATH = 107


class FilePublisher(Publisher):
    """A publisher whose address is a file."""

    def close(self) -> None:
        super().close()
        Path(self.address).unlink()


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    @staticmethod
    def version() -> str:
        kernel = os.uname()
        return f"{kernel.sysname} {kernel.release}"

    def publisher(self, link: Link) -> Publisher:
        path = str(Path(self._setup.directory, f"{link.name}.sock"))
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise AdapterError(f"the path {path} is too long for a socket", "give results a shorter folder with --out")
        listener = self._socket()
        listener.bind(path)
        listener.listen(128)
        return FilePublisher(self._setup, listener, path)

    def subscriber(self, link: Link) -> Subscriber:
        connection = self._socket()
        connection.connect(link.address)
        return Subscriber(self._setup, connection)

    def _socket(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        set_buffer(made, socket.SO_SNDBUF, self._setup.settings["send_buffer"], "net.core.wmem_max")
        return made

    @staticmethod
    def facts() -> dict[str, str]:
        return {"path": "Unix sockets"}

    def close(self) -> None:
        """The ends own all there is."""
