"""Link ends that send pickled objects, or bytes without pickling, over multiprocessing connections (Unix sockets)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from hopmeter.node.contract import Link, Setup, Take

from . import keys
from .ends import Reader, Subscriber, Writer
from .publishing import Publisher


class PipeOutlet(Writer):
    def __init__(self, end: Connection[Any, Any], bare: bool) -> None:
        super().__init__(end)
        self.put: Callable[[Any], None] = self.send_bytes if bare else self.send


class PipePublisher(Publisher):
    def new_outlet(self, connection: Connection[Any, Any]) -> PipeOutlet:
        return PipeOutlet(connection, self._bare)


class PipeSubscriber(Subscriber):
    def __init__(self, setup: Setup, link: Link, keyed: bool = False) -> None:
        super().__init__(link.wait == "spin")
        self._reader = Reader(keys.connect(link.address, keyed), self._spins)
        bytes_only = functools.partial(self._reader.recv_bytes, link.frame_bytes)
        bare = setup.settings.get("content", "bytes") == "bytes"
        self._next: Callable[[], Any] = bytes_only if bare else self._reader.recv

    def _receive(self, timeout_s: float, take: Take) -> int:
        message = self._reader.receive(timeout_s, self._next)
        if message is None:
            return 0
        take(message, native=message)
        return 1

    def close(self) -> None:
        super().close()
        self._reader.close()
