"""Runs asyncio event loops for link ends that receive messages by callback. Services that are written in Python usually
wait for messages in such event loops.

Import this module only for the wait `callback`, unless your library itself imports asyncio: importing asyncio slows
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


def endpoint_loop(start: Callable[[], EventLoop] | None = None) -> EventLoop:
    """Return the event loop that all link ends of this thread's endpoint share, just as all tasks of a service share
    one event loop. If no link end of the endpoint is open, `start` creates the event loop, which by default is an
    `EventLoop`.

    A client must not use the shared loop, because a server's callback blocks that loop while it waits for the reply to
    its own call.
    """
    loop: EventLoop | None = getattr(_endpoint, "loop", None)
    if loop is None or not loop.share():
        loop = _endpoint.loop = (start or EventLoop)()
    return loop


class EventLoop:
    """An event loop that runs on a thread of its own until all of its users have closed it."""

    def __init__(self) -> None:
        self._users, self._sharing = 1, threading.Lock()
        self._sends: deque[Work[object]] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asyncio", daemon=True)
        self._thread.start()

    def share(self) -> bool:
        """Add a user. Return False if the event loop has already been closed."""
        with self._sharing:
            self._users += bool(self._users)
            return self._users > 0

    @property
    def is_here(self) -> bool:
        """Whether the current thread is the thread that runs the event loop."""
        return threading.get_ident() == self._thread.ident

    def start(self, work: Work[R]) -> concurrent.futures.Future[R]:
        """Start a task on the event loop from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Work[R]) -> R:
        """Start a task on the event loop from another thread, wait for the task, and return its result."""
        return self.start(work).result()

    def call(self, function: Callable[..., object], *given: object) -> None:
        """Call a function on the event loop: at once if the current thread runs the loop, and otherwise soon."""
        if self.is_here:
            function(*given)
        else:
            self._loop.call_soon_threadsafe(function, *given)

    def send_later(self, work: Work[object]) -> None:
        """Store a message that a running callback sends, because the callback itself cannot await the send."""
        self._sends.append(work)

    async def finish_sends(self) -> None:
        """Send the messages that a callback has stored with `send_later`. Call this method after each callback, before
        you await the next message."""
        while self._sends:
            await self._sends.popleft()

    def close(self) -> None:
        """Remove a user. The last user that closes the event loop also cancels all tasks and ends the thread."""
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
    """A queue for the messages that one link end sends from any thread, one message at a time."""

    def __init__(self, loop: EventLoop, patience_s: float | None = PATIENCE_S) -> None:
        """Create an outbox. Each send waits at most `patience_s` seconds, or without a limit if `patience_s` is
        None."""
        self._loop, self._patience_s = loop, patience_s
        self._last: concurrent.futures.Future[object] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the library has accepted the previous message.

        During a callback, the value is always true, because the event loop awaits the messages of a callback one after
        another.
        """
        return self._last is None or self._last.done() or self._loop.is_here

    def put(self, work: Work[object]) -> bool:
        """Send a message by running a coroutine of the library. Return True, because that is what the `send` method of
        a publisher returns.

        If the caller is on a thread other than the loop's, wait until the library accepts the message. Raises the
        library's error.
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
        """Start the task. `receive` awaits one message and calls the callback, and raises EOFError if no more messages
        will arrive."""
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
        """Stop the task, after waiting for a callback that is running. If an error has ended the task, raises that
        error."""
        self._is_closing = True
        self._loop.start(self._cancel())
        with contextlib.suppress(concurrent.futures.CancelledError):
            self._end.result()

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
