"""The adapter for WebSocket in Python. It uses the threading API of websockets, or the asyncio API of websockets for
callbacks. ../README.md describes the wire format and the threads.
"""

from __future__ import annotations

import socket
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import websockets.version
from websockets.sync.client import ClientConnection, connect

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import Closable, Link, Setup, Take, network_device
from hopmeter.node.credentials import uses_tls

from .calls import Client, Server
from .connections import options, url_of
from .patient import Listener, connect_to
from .patient_tls import patient_client
from .topics import Publisher, Subscriber

if TYPE_CHECKING:
    from . import asyncio_ends


def called_ends() -> ModuleType:
    """Return the module of the link ends for callbacks. This module is imported only if it is needed, because it
    imports asyncio, and that import is slow."""
    from . import asyncio_ends

    return asyncio_ends


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._unix = self.settings["endpoint"] == "unix"
        below = "Unix sockets" if self._unix else f"TCP on {network_device(setup)}"
        self.path = f"TLS over {below}" if uses_tls(setup) else below

    @staticmethod
    def version() -> str:
        return f"websockets {websockets.version.version}"

    def publisher(self, link: Link) -> Publisher | asyncio_ends.Publisher:
        if link.wait == "callback":
            return called_ends().Publisher(self.setup, link)
        return Publisher(self.setup, link, self._listener(link))

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self._connection(link))

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        return called_ends().Subscription(self.setup, link, on_frame)

    def server(self, link: Link) -> Server | asyncio_ends.Server:
        if link.wait == "callback":
            return called_ends().Server(self.setup, link)
        return Server(self.setup, link, self._listener(link))

    def client(self, link: Link) -> Client | asyncio_ends.Client:
        if link.wait == "callback":
            return called_ends().Client(self.setup, link)
        return Client(link, self._connection(link))

    def _listener(self, link: Link) -> Listener:
        return Listener(Path(self.setup.directory, f"{link.name}.ws") if self._unix else None, self.setup)

    def _connection(self, link: Link) -> ClientConnection:
        made = connect_to(link.address, socket.AF_UNIX if self._unix else socket.AF_INET)
        own = {"sock": made, "ssl": patient_client(self.setup), "proxy": None}
        opened: ClientConnection = connect(url_of(self.setup, link), **own, **options(self.setup))
        return opened
