"""The adapter for multiprocessing between unrelated Python processes; ../README.md describes the wire formats."""

from __future__ import annotations

import platform
from typing import Any

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import Link, Setup

from ..._multiprocessing.python.piped import PipePublisher, PipeSubscriber
from ..._multiprocessing.python.segments import SegmentPublisher, SegmentSubscriber
from .calls import Client, SegmentClient, SegmentServer, Server

KINDS: dict[str, tuple[str, tuple[Any, Any, Any, Any]]] = {
    "connection": ("Unix sockets", (PipePublisher, PipeSubscriber, Server, Client)),
    "shared_memory": (
        "shared memory, with Unix sockets as the bell",
        (SegmentPublisher, SegmentSubscriber, SegmentServer, SegmentClient),
    ),
}


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path, (self._publisher, self._subscriber, self._server, self._client) = KINDS[self.settings["kind"]]

    @staticmethod
    def version() -> str:
        return f"{platform.python_implementation()} {platform.python_version()}"

    def publisher(self, link: Link) -> Any:
        return self._publisher(self.setup, link, keyed=True)

    def subscriber(self, link: Link) -> Any:
        return self._subscriber(self.setup, link, keyed=True)

    def server(self, link: Link) -> Any:
        return self._server(self.setup, link)

    def client(self, link: Link) -> Any:
        return self._client(self.setup, link)
