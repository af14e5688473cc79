"""Implements `wait = "block"` for a library that delivers messages only by callback. The library's thread queues
messages for the endpoint's thread, which sleeps until a message arrives. Any program that makes a thread wait for
callbacks pays for a queue and a thread switch.

The queue does not copy frames, so an adapter must pass to `on_frame` only frames that the library does not overwrite. A
request need not stay valid after its callback, because the callback returns only when the request has been handled.

By default, no frame is dropped: the library's thread waits while the queue contains `ROOM` calls. Messages that the
library loses while its thread waits count as lost. If waiting would block the sender itself, the adapter drops frames
and reports their number.
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

    If `blocks` is true, the fact mentions the queue.
    """
    return f"{path}, and a queue from the library's thread" if blocks else path


class HandOver:
    """A bounded queue between a library's callback threads and the polling thread.

    Two queues that are implemented in C contain the waiting calls and the free places.
    """

    def __init__(self, room: int = ROOM, drops: bool = False) -> None:
        """Create a queue that holds at most `room` calls.

        A full queue drops a frame if `drops` is true; otherwise, the library's thread waits for a free place.
        """
        self.dropped, self._drops = 0, drops
        self._arrived: queue.SimpleQueue[tuple[Call, Done]] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closing, self._closed = threading.Lock(), False
        for _ in range(room):
            self._free.put(None)

    def frame(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Put a frame into the queue. The library's threads call this method as `on_frame`."""
        if self._drops and self._free.empty():
            self.dropped += 1
        else:
            self._give(lambda take: take(frame, payload, native=native), _keep_frame)

    def request(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Put a request into the queue, and return when it has been handled.

        The library's threads call this method as `on_request`.
        """
        parts = (frame, reply) if third is None else (frame, reply, third)
        handled = threading.Lock()
        handled.acquire()
        if self._give(lambda handle: handle(*parts), handled.release):
            handled.acquire()

    def _give(self, call: Call, done: Done) -> bool:
        """Put a call into the queue, and return whether the queue accepted it. A closed queue accepts no calls."""
        self._free.get()
        with self._closing:
            if not self._closed:
                self._arrived.put((call, done))
                return True
        self._free.put(None)  # wakes the next thread that waits for room in the queue
        return False

    def poll(self, timeout_s: float, receive: Any) -> int:
        """Sleep until a call arrives or `timeout_s` has passed.

        Subscribers and servers use this method as their `poll`.
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
        """Wake up all library threads that wait for this queue.

        Call this method only after all threads have stopped polling.
        """
        with self._closing:
            self._closed = True
        while not self._arrived.empty():
            self._arrived.get()[1]()
        self._free.put(None)


def _keep_frame() -> None:
    """Do nothing, because no thread waits for a frame to be handled."""


class Subscriber:
    """A blocking receiving end for a library that delivers by callback."""

    def __init__(self, subscribe: Callable[[Take], Closable], room: int = ROOM, drops: bool = False) -> None:
        self._hands = HandOver(room, drops)
        self.poll = self._hands.poll
        self._called = subscribe(self._hands.frame)

    @property
    def drop_count(self) -> int:
        """The number of frames that were dropped because the queue was full."""
        return self._hands.dropped

    def close(self) -> None:
        """Release the library's threads, then close the library's link end, which may wait for these threads."""
        self._hands.close()
        self._called.close()


class CalledServer(Closable, Protocol):
    """A server that the library calls and that cannot be polled."""

    address: str

    def serve(self, on_request: Handle) -> Closable:
        """Start to handle requests on the library's threads."""


class Server:
    """A blocking server for a library that calls its servers.

    The server queues requests as soon as it has been created.
    """

    def __init__(self, server: CalledServer) -> None:
        self._hands, self._server = HandOver(), server
        self.poll, self.address = self._hands.poll, server.address
        self._serving = server.serve(self._hands.request)

    def close(self) -> None:
        """Release the library's threads, then close the library's server, which may wait for these threads."""
        self._hands.close()
        self._serving.close()
        self._server.close()


class CallbackTransport(BaseTransport):
    """A transport for a library that delivers only by callback.

    A subclass implements `subscribe` and `called_server`; this class builds the blocking link ends from these two
    methods.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._blocks = False

    def note_wait(self, link: Link) -> Self:
        """Record whether the link's ends block, and return this transport."""
        self._blocks |= link.wait == "block"
        return self

    def facts(self) -> dict[str, str]:
        """Return the fact `path`, which mentions the queue if the ends of any link block."""
        return {"path": path_fact(self.path, self._blocks)}

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end that the library calls."""
        raise NotImplementedError

    def called_server(self, link: Link) -> CalledServer:
        """Bind a server to which the library delivers requests once `serve` has been called."""
        raise NotImplementedError

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a blocking receiving end."""
        return Subscriber(lambda on_frame: self.note_wait(link).subscribe(link, on_frame))

    def server(self, link: Link) -> CalledServer | Server:
        """Bind a server that is polled if the link's wait is `block`, and called by the library otherwise."""
        server = self.note_wait(link).called_server(link)
        return Server(server) if link.wait == "block" else server


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a `CallbackTransport` method that opens a link end with `base.opens` and records how the link's ends
    wait."""
    return base.opens(lambda transport, link: end(transport.note_wait(link), link))
