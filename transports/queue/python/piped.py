"""The kind `multiprocessing.Pipe()`: a connection over Unix sockets, for objects or for bytes."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Client, Connection
from typing import Any

from hopmeter.node.contract import Link, Setup, Take

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
    def __init__(self, setup: Setup, link: Link) -> None:
        super().__init__(link.wait == "spin")
        self._reader = Reader(Client(link.address, "AF_UNIX"), self._spins)
        bare = setup.settings["content"] == "bytes"
        self._next: Callable[[], Any] = self._reader.recv_bytes if bare else self._reader.recv

    def _receive(self, timeout_s: float, take: Take) -> int:
        reader = self._reader
        if timeout_s != reader.patience_s:
            reader.wait_for(timeout_s)
        reader.begun = False
        try:
            message = self._next()
        except BlockingIOError:
            return 0
        take(message, native=message)
        return 1

    def close(self) -> None:
        super().close()
        self._reader.close()
