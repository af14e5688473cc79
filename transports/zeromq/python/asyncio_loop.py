"""The wait `callback`: an event loop on a separate thread awaits a socket's messages, as in Python services."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import zmq
import zmq.asyncio

from hopmeter.node.contract import Closable


class EventLoop:
    """Receives the messages of one link end until it is closed."""

    def __init__(
        self, socket: zmq.Socket[Any], receive: Callable[[zmq.asyncio.Socket], Awaitable[None]], owner: Closable | None
    ) -> None:
        """`receive` awaits one message and passes it on. `close` also closes `owner`, if there is one."""
        self._owner, self._is_closing = owner, False
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._receive_all(zmq.asyncio.Socket.from_socket(socket), receive))
        self._thread = threading.Thread(target=self._run, name="asyncio", daemon=True)
        self._thread.start()

    async def _receive_all(self, socket: zmq.asyncio.Socket, receive: Callable[..., Awaitable[None]]) -> None:
        while not self._is_closing:  # `cancel` has no effect while messages keep arriving
            await receive(socket)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)

    def close(self) -> None:
        """Stop the task, wait for a running callback, and close the loop."""
        self._is_closing = True
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
        self._loop.close()
        if self._owner is not None:
            self._owner.close()
