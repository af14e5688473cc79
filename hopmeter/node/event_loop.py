"""Runs asyncio event loops for link ends that are called back. Python services wait in such loops.

Unless your library itself imports asyncio, import this module only for the wait `callback`: the import of asyncio slows
down the start of a node.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from hopmeter.node.sockets import PATIENCE_S

R = TypeVar("R")
Work = Coroutine[Any, Any, R]

_endpoint = threading.local()


def endpoint_loop() -> EventLoop:
    """Return the event loop that the link ends of this thread's endpoint share, as the tasks of a service do.

    A client must not share this loop, because a server's callback waits for the reply to its own call.
    """
    loop: EventLoop | None = getattr(_endpoint, "loop", None)
    if loop is None or not loop.share():
        loop = _endpoint.loop = EventLoop()
    return loop


class EventLoop:
    """An event loop on a thread of its own, until all of its users have closed it."""

    def __init__(self) -> None:
        self._users, self._sharing = 1, threading.Lock()
        self._sends: deque[Work[object]] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asyncio", daemon=True)
        self._thread.start()

    def share(self) -> bool:
        """Add a user. Return False if the loop has already been closed."""
        with self._sharing:
            self._users += bool(self._users)
            return self._users > 0

    @property
    def is_here(self) -> bool:
        """Whether the current thread runs the loop."""
        return threading.get_ident() == self._thread.ident

    def start(self, work: Work[R]) -> concurrent.futures.Future[R]:
        """Start a task from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Work[R]) -> R:
        """Start a task from another thread, and return its result."""
        return self.start(work).result()

    def send_later(self, work: Work[object]) -> None:
        """Store a send of the running callback, because the callback cannot await the send."""
        self._sends.append(work)

    async def finish_sends(self) -> None:
        """Await what a callback has sent. Call this after each callback, before you await the next message."""
        while self._sends:
            await self._sends.popleft()

    def close(self) -> None:
        """Remove a user. The last one cancels all tasks, and ends the thread."""
        with self._sharing:
            self._users -= 1
            if self._users:
                return
        self.run(self._cancel_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for work in self._sends:
            work.close()

    async def _cancel_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Outbox:
    """The messages that one link end sends from any thread, one at a time."""

    def __init__(self, loop: EventLoop, patience_s: float | None = PATIENCE_S) -> None:
        """Create an outbox whose sends wait at most `patience_s`, or without a limit if it is None."""
        self._loop, self._patience_s = loop, patience_s
        self._last: concurrent.futures.Future[object] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the library has accepted the previous message.

        Always true in a callback, because the loop awaits the messages of a callback one after another.
        """
        return self._last is None or self._last.done() or self._loop.is_here

    def put(self, work: Work[object]) -> bool:
        """Send a message with a coroutine of the library. Return True, as a publisher's `send` does.

        From another thread, wait until the library accepts the message. Raises the library's error.
        """
        if self._loop.is_here:
            self._loop.send_later(work)
        else:
            self._last = self._loop.start(work)
            with contextlib.suppress(concurrent.futures.TimeoutError):
                self._last.result(self._patience_s)
        return True


class Receiver:
    """A task that awaits the messages of one link end, one at a time."""

    def __init__(self, loop: EventLoop, receive: Callable[[], Awaitable[object]]) -> None:
        """Start the task. `receive` awaits a message and calls the callback; `receive` raises EOFError if no more
        messages will come."""
        self._loop, self._receive, self._is_closing = loop, receive, False
        self._task: asyncio.Task[None] | None = None
        self._end = loop.start(self._receive_all())

    async def _receive_all(self) -> None:
        self._task = asyncio.current_task()
        with contextlib.suppress(EOFError):
            while not self._is_closing:  # `cancel` has no effect while messages keep arriving
                await self._receive()
                await self._loop.finish_sends()

    def close(self) -> None:
        """Stop the task, and wait for a running callback. Raises the error that ended the task, if there is one."""
        self._is_closing = True
        self._loop.start(self._cancel())
        with contextlib.suppress(concurrent.futures.CancelledError):
            self._end.result()

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
