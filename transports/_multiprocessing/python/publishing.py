"""Publishers between processes, which accept receivers and have one outlet for each receiver."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Protocol

from hopmeter.node.buffers import FrameBuffer
from hopmeter.node.contract import Fill, Link, Setup

from . import keys

WAITING_BYTES = 256 << 20


class Outlet(Protocol):
    """The channel to one receiver."""

    @property
    def is_full(self) -> bool: ...
    @property
    def is_gone(self) -> bool: ...
    def put(self, message: Any) -> None: ...
    def close(self) -> None: ...


def waiting_limit(link: Link) -> int:
    """Return the number of frames that may wait in an unlimited queue before a send is busy."""
    return max(4, int(WAITING_BYTES // link.frame_bytes))


class Reception:
    """A multiprocessing listener in the trial's private folder, and the thread that accepts receivers.

    multiprocessing's queues are designed for child processes that inherit them. Nodes are not children of each other,
    so they connect through a `Reception`.
    """

    def __init__(self, setup: Setup, link: Link, keyed: bool = False) -> None:
        """Bind the link end. With `keyed`, peers must prove that they know the authkey."""
        self.address = str(Path(setup.directory, f"{link.name}.mp"))
        self.setup, self.link = setup, link
        self._key = keys.create(self.address) if keyed else None
        self._listener = Listener(self.address, "AF_UNIX", backlog=128)
        self._arrived: deque[Outlet] = deque()
        self.joined = threading.Event()
        """Set whenever a receiver has joined."""
        self._outlets: list[Outlet] = []
        self._closing = False
        self._thread = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._thread.start()

    def new_outlet(self, connection: Connection[Any, Any]) -> Outlet:
        raise NotImplementedError

    def _accept(self) -> None:
        while True:
            connection = self._listener.accept()
            if self._closing:
                return connection.close()
            # The receiver may have disconnected meanwhile, or may not know the key.
            with contextlib.suppress(OSError, EOFError, keys.AuthenticationError):
                keys.check(connection, self._key)
                self._arrived.append(self.new_outlet(connection))
                self.joined.set()

    def outlets(self) -> list[Outlet]:
        """Return the outlets of all current receivers."""
        for outlet in self._outlets:
            if outlet.is_gone:
                self._drop_gone()
                break
        while self._arrived:
            self._outlets.append(self._arrived.popleft())
        return self._outlets

    def _drop_gone(self) -> None:
        """Close the outlets of disconnected receivers."""
        for outlet in self._outlets:
            if outlet.is_gone:
                outlet.close()
        self._outlets = [outlet for outlet in self._outlets if not outlet.is_gone]

    def close(self) -> None:
        self._closing = True
        Client(self.address, "AF_UNIX").close()  # `accept` returns only after a connection
        self._thread.join()
        self._listener.close()
        keys.remove(self.address)
        for outlet in (*self._outlets, *self._arrived):
            outlet.close()


class Publisher(Reception):
    """Sends one message to each outlet. If the content is `bytes`, every message uses the same buffer. Otherwise, every
    message is a new object, because a queue may read an object later."""

    def __init__(self, setup: Setup, link: Link, keyed: bool = False) -> None:
        self._outgoing = FrameBuffer(link.frame_bytes)
        self._bare = setup.settings.get("content", "bytes") == "bytes"
        super().__init__(setup, link, keyed)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        for outlet in self.outlets():
            if outlet.is_full:
                return False
        frame = self._outgoing.fill(payload_bytes, fill)
        return self._put(frame if self._bare else bytes(frame))

    def forward(self, native: bytes) -> bool:
        for outlet in self.outlets():
            if outlet.is_full:
                return False
        return self._put(native)

    def _put(self, message: Any) -> bool:
        for outlet in self._outlets:
            outlet.put(message)
        return True
