"""`block` for a library that only calls: the library's thread hands messages to the endpoint's, which sleeps until
something has arrived. A program that has such a library and wants to wait does the same, at the same
cost: a queue, and a change of threads.

Nothing is copied. A frame must outlive the call that brought it, so an adapter must give `on_frame` a frame of its
own, which the library does not overwrite; a request is borrowed, because its caller waits until it was handled.
Nothing is dropped either: the queue has room for `ROOM` calls, and while it is full the library's thread waits, as it
would in a slow callback. Messages that the library then loses count as lost. If the sender itself would wait until
the receiver polls, an adapter has frames dropped instead, and reports how many.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import Closable, Handle, Link, Setup, Take

ROOM = 64
"""The most frames and requests in transit; as many as the queues of `memory` hold."""

Call = Callable[[Any], object]
"""The call that is handed over; it gets the `take` or `handle` of the end that polls."""
Done = Callable[[], None]


def path_fact(path: str, setup: Setup) -> str:
    """Return the fact `path` of such an adapter, with the queue if there is one."""
    return f"{path}, and a queue from the library's thread" if setup.wait == "block" else path


class HandOver:
    """A bounded queue between the threads on which a library calls and the one that polls.

    It consists of two queues in C: the arrived calls, and the free places.
    """

    def __init__(self, room: int = ROOM, drops: bool = False) -> None:
        """While it is full, a frame waits for its place, or with `drops` is dropped."""
        self.dropped, self._drops = 0, drops
        self._arrived: queue.SimpleQueue[tuple[Call, Done]] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closing, self._closed = threading.Lock(), False
        for _ in range(room):
            self._free.put(None)

    def frame(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Hand over a frame: the `on_frame` for the library's threads."""
        if self._drops and self._free.empty():
            self.dropped += 1
        else:
            self._give(lambda take: take(frame, payload, native=native), _keep_frame)

    def request(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Hand over a request, as the `on_request` of the library's threads, and return when it is finished."""
        parts = (frame, reply) if third is None else (frame, reply, third)
        handled = threading.Lock()
        handled.acquire()
        if self._give(lambda handle: handle(*parts), handled.release):
            handled.acquire()

    def _give(self, call: Call, done: Done) -> bool:
        """Return whether a call was accepted; after `close` none is."""
        self._free.get()
        with self._closing:
            if not self._closed:
                self._arrived.put((call, done))
                return True
        self._free.put(None)  # for the next thread that waits
        return False

    def poll(self, timeout_s: float, receive: Any) -> int:
        """Sleep until something has arrived or `timeout_s` has passed, as `poll` of a subscriber and of a server."""
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
        """Release every thread that waits here. Call it when nothing polls any more."""
        with self._closing:
            self._closed = True
        while not self._arrived.empty():
            self._arrived.get()[1]()
        self._free.put(None)


def _keep_frame() -> None:
    """Do nothing: no thread waits until a frame was handled."""


class Subscriber:
    """A receiving end that blocks, made from one that is called."""

    def __init__(self, subscribe: Callable[[Take], Closable], room: int = ROOM, drops: bool = False) -> None:
        self._hands = HandOver(room, drops)
        self.poll = self._hands.poll
        self._called = subscribe(self._hands.frame)

    @property
    def drop_count(self) -> int:
        """Frames that found the queue full."""
        return self._hands.dropped

    def close(self) -> None:
        """Release the library's threads, which the library may wait for."""
        self._hands.close()
        self._called.close()


class CalledServer(Closable, Protocol):
    """A server that can only be called."""

    address: str

    def serve(self, on_request: Handle) -> Closable:
        """Handle requests on the library's threads from now on."""


class Server:
    """A server that blocks, made from one that is called. It serves from the start."""

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
    """A transport of a library that only calls: it has `subscribe` and `called_server`, and builds the ends that block
    from those."""

    def facts(self) -> dict[str, str]:
        """Return the path, with the queue if there is one."""
        return {"path": path_fact(self.path, self.setup)}

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end that is called."""
        raise NotImplementedError

    def called_server(self, link: Link) -> CalledServer:
        """Bind a server that is called once it serves."""
        raise NotImplementedError

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a receiving end that blocks."""
        return Subscriber(lambda on_frame: self.subscribe(link, on_frame))

    def server(self, link: Link) -> CalledServer | Server:
        """Bind a server, which is called or blocks as the setup says."""
        server = self.called_server(link)
        return Server(server) if self.setup.wait == "block" else server
