"""The wait `block` for a library that delivers only by callback: the library's thread passes messages to the endpoint's
thread, which sleeps until a message has arrived. A program that uses such a library and wants to wait must do the same,
at the same cost: a queue and a change of threads.

Nothing is copied. A frame must outlive the call that delivered it, so an adapter must pass to `on_frame` a frame that
the library does not overwrite; a request need not outlive its call, because the caller waits until it has been handled.
No frame is dropped: the queue has room for `ROOM` calls, and while it is full the library's thread waits, as it would
in a slow callback. If the library loses messages meanwhile, they count as lost. If the sender itself would wait until
the receiver polls, an adapter drops frames instead and reports their number.
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
    from typing import Self  # novm: Python 3.10 does not have it

ROOM = 64
"""The maximum number of frames and requests in transit; the same number as in the queues of `memory`."""

Call = Callable[[Any], object]
"""A queued call; it gets the `take` or `handle` of the link end that polls."""
Done = Callable[[], None]


def path_fact(path: str, blocks: bool) -> str:
    """Return the fact `path` of an adapter that uses this queue, with the queue if a link has the wait `block`."""
    return f"{path}, and a queue from the library's thread" if blocks else path


class HandOver:
    """A bounded queue between the threads on which a library calls and the thread that polls.

    It consists of two queues in C: one of arrived calls, and one of free places.
    """

    def __init__(self, room: int = ROOM, drops: bool = False) -> None:
        """While the queue is full, a frame waits for a place; with `drops`, it is dropped."""
        self.dropped, self._drops = 0, drops
        self._arrived: queue.SimpleQueue[tuple[Call, Done]] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closing, self._closed = threading.Lock(), False
        for _ in range(room):
            self._free.put(None)

    def frame(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Put a frame into the queue; this is the `on_frame` that the library's threads call."""
        if self._drops and self._free.empty():
            self.dropped += 1
        else:
            self._give(lambda take: take(frame, payload, native=native), _keep_frame)

    def request(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Put a request into the queue and return when it is handled; this is the `on_request` that the library's
        threads call."""
        parts = (frame, reply) if third is None else (frame, reply, third)
        handled = threading.Lock()
        handled.acquire()
        if self._give(lambda handle: handle(*parts), handled.release):
            handled.acquire()

    def _give(self, call: Call, done: Done) -> bool:
        """Return whether the queue accepted a call; after `close`, it accepts no call."""
        self._free.get()
        with self._closing:
            if not self._closed:
                self._arrived.put((call, done))
                return True
        self._free.put(None)  # for the next thread that waits
        return False

    def poll(self, timeout_s: float, receive: Any) -> int:
        """Sleep until a call arrives or `timeout_s` has passed; used as `poll` of a subscriber and of a server."""
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
        """Release every thread that waits here. Call this when no thread polls any more."""
        with self._closing:
            self._closed = True
        while not self._arrived.empty():
            self._arrived.get()[1]()
        self._free.put(None)


def _keep_frame() -> None:
    """Do nothing: no thread waits until a frame has been handled."""


class Subscriber:
    """A receiving end that blocks, made from a receiving end that the library calls."""

    def __init__(self, subscribe: Callable[[Take], Closable], room: int = ROOM, drops: bool = False) -> None:
        self._hands = HandOver(room, drops)
        self.poll = self._hands.poll
        self._called = subscribe(self._hands.frame)

    @property
    def drop_count(self) -> int:
        """The number of frames that were dropped because the queue was full."""
        return self._hands.dropped

    def close(self) -> None:
        """Release the threads of the library, because the library may wait for them."""
        self._hands.close()
        self._called.close()


class CalledServer(Closable, Protocol):
    """A server that the library can only call."""

    address: str

    def serve(self, on_request: Handle) -> Closable:
        """Handle requests on the library's threads from now on."""


class Server:
    """A server that blocks, made from a server that the library calls. The server serves from the start."""

    def __init__(self, server: CalledServer) -> None:
        self._hands, self._server = HandOver(), server
        self.poll, self.address = self._hands.poll, server.address
        self._serving = server.serve(self._hands.request)

    def close(self) -> None:
        """Release the library's threads, which the library may wait for."""
        self._hands.close()
        self._serving.close()
        self._server.close()


class CallbackTransport(BaseTransport):
    """A transport over a library that delivers only by callback: it has `subscribe` and `called_server`, and builds the
    link ends that block from these."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._blocks = False

    def note_wait(self, link: Link) -> Self:
        """Note how the ends of a link wait, for the fact `path`, and return this transport."""
        self._blocks |= link.wait == "block"
        return self

    def facts(self) -> dict[str, str]:
        """Return the path, with the queue if there is one."""
        return {"path": path_fact(self.path, self._blocks)}

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end that the library calls."""
        raise NotImplementedError

    def called_server(self, link: Link) -> CalledServer:
        """Bind a server that the library calls after `serve`."""
        raise NotImplementedError

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a receiving end that blocks."""
        return Subscriber(lambda on_frame: self.note_wait(link).subscribe(link, on_frame))

    def server(self, link: Link) -> CalledServer | Server:
        """Bind a server; the wait of the link decides whether it blocks or is called."""
        server = self.note_wait(link).called_server(link)
        return Server(server) if link.wait == "block" else server


def opens(end: Callable[[Any, Link], Opened]) -> Callable[[Any, Link], Opened]:
    """Return a method of a `CallbackTransport` that opens a link end, as `base.opens` does."""
    return base.opens(lambda transport, link: end(transport.note_wait(link), link))
