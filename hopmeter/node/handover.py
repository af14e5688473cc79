"""`block` for a library that only calls: its thread hands over to the participant's, which sleeps until something is
there. This is what a program does that has such a library and wants to wait, and it costs what it costs that program:
a queue, and a change of threads.

Nothing is copied. A frame has to outlive the call that brought it, so what an adapter gives to `on_frame` must be its
own, and not the library's to write into again; a request is borrowed, since its caller waits until it was handled.
Nothing is dropped either: the queue has room for `ROOM`, and where it is full the library's thread waits, as it would
in a callback that is slow. What is then lost is the library's doing, and counted as any loss. Where the sender itself
would wait then, and for as long as nobody polls, an adapter has frames dropped instead, and tells how many.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol

from hopmeter.node.contract import Closable, Handle, Setup, Take

ROOM = 64
"""Frames and requests on their way; as many as the queues of `memory` hold."""

Call = Callable[[Any], object]
"""What is handed over: called with the `take` or `handle` of whoever polls."""
Done = Callable[[], None]


def way(path: str, setup: Setup) -> str:
    """The fact `path` of such an adapter, with the queue at its end where there is one."""
    return f"{path}, and a queue from the library's thread" if setup.wait == "block" else path


class HandOver:
    """A bounded queue between the threads that a library calls on and the one that polls.

    Its two halves are queues in C: one of what has arrived, and one of the places that are free.
    """

    def __init__(self, room: int = ROOM, drops: bool = False) -> None:
        """Where it is full, a frame waits for its place, or is dropped."""
        self.dropped, self._drops = 0, drops
        self._arrived: queue.SimpleQueue[tuple[Call, Done]] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closing, self._closed = threading.Lock(), False
        for _ in range(room):
            self._free.put(None)

    def frame(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """An `on_frame`, for the library's threads."""
        if self._drops and self._free.empty():
            self.dropped += 1
        else:
            self._give(lambda take: take(frame, payload, native=native), _nothing)

    def request(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """An `on_request`, for the library's threads: returns when it was handled, or will not be any more."""
        parts = (frame, reply) if third is None else (frame, reply, third)
        handled = threading.Lock()
        handled.acquire()
        if self._give(lambda handle: handle(*parts), handled.release):
            handled.acquire()

    def _give(self, call: Call, done: Done) -> bool:
        """Whether it was taken: it is not once this is closed."""
        self._free.get()
        with self._closing:
            if not self._closed:
                self._arrived.put((call, done))
                return True
        self._free.put(None)  # for the next that waits
        return False

    def poll(self, timeout_s: float, receive: Any) -> int:
        """`poll` of a subscriber and of a server: sleeps until something is there, or `timeout_s` has passed."""
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
        """Lets everybody go who waits in here. Nobody polls any more."""
        with self._closing:
            self._closed = True
        while not self._arrived.empty():
            self._arrived.get()[1]()
        self._free.put(None)


def _nothing() -> None:
    """Nobody waits for a frame."""


class Subscriber:
    """A receiving end that blocks, made of one that is called."""

    def __init__(self, subscribe: Callable[[Take], Closable], room: int = ROOM, drops: bool = False) -> None:
        self._hands = HandOver(room, drops)
        self.poll = self._hands.poll
        self._called = subscribe(self._hands.frame)

    @property
    def dropped(self) -> int:
        """Frames that found no room."""
        return self._hands.dropped

    def close(self) -> None:
        """Lets the library's threads go, which the library may wait for."""
        self._hands.close()
        self._called.close()


class CalledServer(Closable, Protocol):
    """A server that can only be called."""

    address: str

    def serve(self, on_request: Handle) -> Closable:
        """Has requests handled on the library's threads."""


class Server:
    """A server that blocks, made of one that is called. It serves from the start."""

    def __init__(self, server: CalledServer) -> None:
        self._hands, self._server = HandOver(), server
        self.poll, self.address = self._hands.poll, server.address
        self._serving = server.serve(self._hands.request)

    def close(self) -> None:
        """Lets the library's threads go, which the library may wait for."""
        self._hands.close()
        self._serving.close()
        self._server.close()
