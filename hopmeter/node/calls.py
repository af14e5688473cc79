"""Provides client and server ends for libraries that make or answer calls on their own threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hopmeter.node.contract import AdapterError, Fill, Handle, Take

if TYPE_CHECKING:
    from typing import Self  # novm: Python 3.10 lacks this name

Parts = tuple[Any, ...]
"""A frame as `take` and `handle` accept it: one buffer, or a header and a payload."""
INTERRUPT_S = 0.02


def _interrupt_nothing() -> None:
    """Do nothing. This function is used if the library's calls end without an interruption."""


class ReplyQueue(queue.SimpleQueue[Parts]):
    """A queue of replies, which the library's threads fill and the endpoint polls."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass one reply to the instrument, as the contract requires of `Client.poll`."""
        try:
            parts = self.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        take(*parts)
        return 1


class BlockingCalls(ReplyQueue):
    """A client end for a library whose calls always block. A separate thread makes the calls, one at a time."""

    def __init__(self, write: Callable[[int, Fill], Any], call: Callable[[Any], Parts | None]) -> None:
        """Create a client end that makes calls with the functions `write` and `call`.

        `write` creates the request for a call. `call` makes the call, and returns the parts of the reply, or None if no
        reply arrives.
        """
        self._write, self._call, self._idle = write, call, True
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        """Start a call, as the contract requires of `Client.start`. Return False (busy) if the previous call has not
        ended yet."""
        if not self._idle:
            return False
        request = self._write(payload_bytes, fill)
        self._idle = False
        self._requests.put(request)
        return True

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            parts = self._call(request)
            self._idle = True
            if parts is not None:
                self.put(parts)

    def stop(self, interrupt: Callable[[], object] = _interrupt_nothing) -> None:
        """Stop the thread.

        The function `interrupt` makes the current call end early. `interrupt` is called again and again, because it has
        no effect if the current call has not begun yet.
        """
        self._requests.put(None)
        while self._thread.is_alive():
            interrupt()
            self._thread.join(INTERRUPT_S)


class CalledServer:
    """A server end for a library that passes each request to a callback and sends the result of the callback as the
    reply.

    After `serve`, the server handles requests one at a time until it is closed.
    """

    address = ""

    def __init__(self, write: Callable[[int, Fill], Any]) -> None:
        """Create the server end of a link. `write` is a function that creates the reply to a request."""
        self._write = write
        self._turn = threading.Lock()
        self._handle: Callable[..., None] | None = None

    def poll(self, _timeout_s: float, _handle: Handle) -> int:
        """Raise AdapterError, because a server end that receives requests by callback cannot be polled."""
        raise AdapterError(
            "the library calls its servers itself, so hopmeter cannot poll them", 'use wait = "callback"'
        )

    def serve(self, on_request: Handle) -> Self:
        """Start to handle the requests that arrive on the library's threads."""
        self._handle = on_request
        return self

    def answer(self, *parts: Any) -> Any:
        """Return the reply to a request, or None if the request remains unanswered.

        The library calls this method on its own thread.
        """
        replies: list[Any] = []

        def reply(payload_bytes: int, fill: Fill) -> bool:
            replies.append(self._write(payload_bytes, fill))
            return True

        with self._turn:
            if self._handle is not None:
                self._handle(*parts, reply)
        return replies[0] if replies else None

    def close(self) -> None:
        """Wait until the current request, if any, has been handled. Requests that arrive after this point get no
        reply."""
        with self._turn:
            self._handle = None
