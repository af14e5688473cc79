"""The wait `callback`: an event loop awaits a socket's messages, as in Python services. Sending needs no event loop,
because a send never waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import zmq
import zmq.asyncio

from hopmeter.node.contract import Closable
from hopmeter.node.event_loop import EventLoop, Receiver


class CalledEnd:
    """Receives the messages of one link end until it is closed."""

    def __init__(
        self, socket: zmq.Socket[Any], receive: Callable[[zmq.asyncio.Socket], Awaitable[None]], owner: Closable | None
    ) -> None:
        """`receive` awaits one message and passes it on. `close` also closes `owner`, if an owner is given."""
        self._owner, self._loop = owner, EventLoop()
        awaited = zmq.asyncio.Socket.from_socket(socket)
        self._receiver = Receiver(self._loop, lambda: receive(awaited))

    def close(self) -> None:
        self._receiver.close()
        self._loop.close()
        if self._owner is not None:
            self._owner.close()
