"""Implements `wait = "block"` for libraries that deliver messages only by callback. The library's thread puts messages
into a queue for the endpoint's thread, which sleeps until a message arrives. Every program that lets a thread wait for
callbacks incurs the cost of a queue and of a thread switch.

The queue does not copy frames, so an adapter must not pass a frame to `on_frame` that the library overwrites later. A
request need not stay valid after its callback, because the callback returns only when the request has been handled.

By default, frames are not dropped: if the queue contains `ROOM` calls, the library's thread waits. Messages that the
library loses while its thread waits count as lost. If the sender itself would have to wait, the adapter drops frames
and reports how many it has dropped.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from hopmeter.node import base
from hopmeter.node.base import BaseTransport, Opened
from hopmeter.node.contract import Closable, Handle, Link, Setup, Take

if TYPE_CHECKING:
    from typing import Self  # novm: Python 3.10 lacks this name

ROOM = 64
"""The maximum number of queued frames and requests, which equals the queue length of `memory`."""

Call = Callable[[Any], object]
"""A queued call. The argument of the call is the `take` or `handle` of the polling link end."""
Done = Callable[[], None]


def path_fact(path: str, blocks: bool) -> str:
    """Return the fact `path` for an adapter that uses `HandOver`.

    If `blocks` is true, the fact also names the queue between the threads.
    """
    return f"{path}, and a queue from the library's thread" if blocks else path


class HandOver:
    """A bounded queue through which callbacks on the library's threads hand calls to the thread that polls.

    The class uses two queues that are implemented in C: one for the calls that wait, and one for the free places.
    """

    def __init__(self, room: int = ROOM, drops: bool = False) -> None:
        """Create a queue that holds at most `room` calls.

        If the queue is full, it drops the frame if `drops` is true; otherwise, the library's thread waits for a free
        place.
        """
        self.dropped, self._drops = 0, drops
        self._arrived: queue.SimpleQueue[tuple[Call, Done]] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closing, self._closed = threading.Lock(), False
        for _ in range(room):
            self._free.put(None)

    def frame(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Put a frame into the queue. The library calls this method as the callback `on_frame`, on its own threads."""
        if self._drops and self._free.empty():
            self.dropped += 1
        else:
            self._give(lambda take: take(frame, payload, native=native), _keep_frame)

    def request(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Put a request into the queue, and return after the request has been handled.

        The library calls this method as the callback `on_request`, on its own threads.
        """
        parts = (frame, reply) if third is None else (frame, reply, third)
        handled = threading.Lock()
        handled.acquire()
        if self._give(lambda handle: handle(*parts), handled.release):
            handled.acquire()

    def _give(self, call: Call, done: Done) -> bool:
        """Put a call into the queue, and return whether the queue accepted it. The queue accepts no calls after it has
        been closed."""
        self._free.get()
        with self._closing:
            if not self._closed:
                self._arrived.put((call, done))
                return True
        self._free.put(None)  # wakes the next thread that waits for room in the queue
        return False

    def poll(self, timeout_s: float, receive: Any) -> int:
        """Sleep until a call arrives or `timeout_s` has passed.

        This method is the `poll` of the subscriber or server that uses the queue.
        """
        try:
            call, done = self._arrived.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        try:
            call(receive)
        finally:
            done()
            self._free.put(None)
        return 1

    def close(self) -> None:
        """Wake up all threads of the library that wait for a free place in the queue or for an answer.

        Call this method only after all threads have stopped polling.
        """
        with self._closing:
            self._closed = True
        while not self._arrived.empty():
            self._arrived.get()[1]()
        self._free.put(None)


def _keep_frame() -> None:
    """Do nothing, because, unlike a request, a frame has no thread that waits until it has been handled."""


class Subscriber:
    """A receiving end with the wait `block`, for a library that delivers messages only by callback."""

    def __init__(self, subscribe: Callable[[Take], Closable], room: int = ROOM, drops: bool = False) -> None:
        self._hands = HandOver(room, drops)
        self.poll = self._hands.poll
        self._called = subscribe(self._hands.frame)

    @property
    def drop_count(self) -> int:
        """The number of frames that this queue dropped because it was full."""
        return self._hands.dropped

    def close(self) -> None:
        """Release the library's threads from the queue, then close the library's link end, which may wait for them."""
        self._hands.close()
        self._called.close()


class CalledServer(Closable, Protocol):
    """A server whose requests arrive in callbacks of the library, and which cannot be polled."""

    address: str

    def serve(self, on_request: Handle) -> Closable:
        """Start to handle requests on the library's threads."""


class Server:
    """A server end with the wait `block`, for a library that delivers requests only by callback.

    The server begins to queue requests as soon as it is created.
    """

    def __init__(self, server: CalledServer) -> None:
        self._hands, self._server = HandOver(), server
        self.poll, self.address = self._hands.poll, server.address
        self._serving = server.serve(self._hands.request)

    def close(self) -> None:
        """Release the library's threads from the queue, then close the library's server, which may wait for them."""
        self._hands.close()
        self._serving.close()
        self._server.close()


class CallbackTransport(BaseTransport):
    """A transport for a library that delivers messages only by callback.

    A subclass implements `subscribe` and `called_server`, from which this class builds the blocking link ends.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._blocks = False

    def note_wait(self, link: Link) -> Self:
        """Record whether the ends of the link have the wait `block`, and return this transport."""
        self._blocks |= link.wait == "block"
        return self

    def facts(self) -> dict[str, str]:
        """Return the fact `path`, which also names the queue between the threads if any link end has the wait
        `block`."""
        return {"path": path_fact(self.path, self._blocks)}

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end to which the library delivers messages by callback."""
        raise NotImplementedError

    def called_server(self, link: Link) -> CalledServer:
        """Bind a server end to which the library delivers requests by callback after `serve` has been called."""
        raise NotImplementedError

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a blocking receiving end."""
        return Subscriber(lambda on_frame: self.note_wait(link).subscribe(link, on_frame))

    def server(self, link: Link) -> CalledServer | Server:
        """Bind a server end. It is polled if the link has the wait `block`, and otherwise receives requests by
        callback."""
        server = self.note_wait(link).called_server(link)
        return Server(server) if link.wait == "block" else server


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a `CallbackTransport` method that opens a link end with `base.opens` and records how the link's ends
    wait."""
    return base.opens(lambda transport, link: end(transport.note_wait(link), link))
