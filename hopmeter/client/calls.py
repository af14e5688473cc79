"""Implements the client side of calls, with the transport's own calls or, if the transport has none, with two links."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from typing import Any

from hopmeter.client.errors import CallFailedError, ConnectError, TimedOutError
from hopmeter.client.frames import Kind, Message, outgoing
from hopmeter.client.links import Asked, connect_end, waited_in_vain
from hopmeter.client.pubsub import LOOK_S, Decode, Polled, Publisher, Subscription, close_lender, offer, refuse_large
from hopmeter.codecs import encode

PROBE_S = 0.05


class Native:
    """A client that uses the transport's own calls."""

    def __init__(self, asked: Asked, name: str, within_s: float) -> None:
        self.name = name
        self._end = connect_end(asked, name, "rpc", lambda transport, link: transport.client(link), within_s)
        self.record = self._end.record
        self._replies = Polled(self._end)

    def put(self, kind: Kind, number: int, frames: list[Any], timeout_s: float) -> None:
        """Start a call. Raises ConnectError if the object is too large, and TimedOutError if the transport stays
        busy."""
        refuse_large(self.name, frames, self.record.frame_bytes)
        length, fill = outgoing(kind, number, self.record.run, frames)
        if not offer(lambda: self._end.opened.start(length, fill), timeout_s):
            raise TimedOutError(
                "E-BUSY", f'"{self.name}": the transport stayed busy for {timeout_s:g} s', "make fewer calls at once"
            )

    def next(self, timeout_s: float) -> Message | None:
        """Return the next reply, or None if no reply arrives in time."""
        return self._replies.next(min(timeout_s, LOOK_S))

    def close(self) -> None:
        """Close the link end."""
        self._end.close()


class Duplex:
    """A client that uses two links instead of the transport's own calls. The client binds the request link, and the
    server binds the reply link."""

    def __init__(self, asked: Asked, name: str, within_s: float) -> None:
        began, caller = time.monotonic(), secrets.token_hex(4)
        self._end = connect_end(asked, name, "rpc", None, within_s)
        self.record = self._end.record
        self._there = Publisher(asked, name, f"call-{caller}")
        try:
            left = max(0.0, within_s - (time.monotonic() - began))
            self._back = Subscription(asked, (name, f"back-{caller}", left))
        except BaseException:
            self._there.close()
            raise
        self.put = self._there.put
        self.next = self._back.next

    def close(self) -> None:
        """Close both links."""
        self._back.close()
        self._there.close()


class Client:
    """A client that calls a server, one call at a time."""

    def __init__(self, asked: Asked, name: str, made: Decode, within_s: float) -> None:
        self.name, self._made = name, made
        self._lock = threading.Lock()
        self._closed = False
        self._lender = asked.lender()
        self._numbers = itertools.count(1)
        began = time.monotonic()
        self._half: Native | Duplex = (Native if asked.manifest.rpc == "native" else Duplex)(asked, name, within_s)
        try:
            self._prove(max(PROBE_S, within_s - (time.monotonic() - began)))
        except BaseException:
            self._half.close()
            raise

    def _prove(self, within_s: float) -> None:
        """Send probes until the server answers one, because some transports lose calls while they connect. Raises
        ConnectError if no answer arrives in time."""
        deadline = time.monotonic() + within_s
        probe = encode(None)
        while time.monotonic() < deadline:
            self._half.put(Kind.PROBE, 0, probe, max(0.0, deadline - time.monotonic()))
            if self._reply(0, min(deadline, time.monotonic() + PROBE_S)) is not None:
                return
        what = f'"{self.name}": the server, process {self._half.record.pid}, does not answer'
        raise ConnectError("E-REPLY-LATE", what, "check whether the handler is busy, or wait longer: within_s=…")

    def _reply(self, number: int, deadline: float) -> Message | None:
        """Return the reply to call `number`, or None if the deadline passes. Late replies to earlier calls are
        ignored."""
        while (left := deadline - time.monotonic()) > 0:
            message = self._half.next(left)
            if message is not None and message.number == number:
                return message
        return None

    def call(self, obj: Any, timeout_s: float = 5.0) -> Any:
        """Call the server, and return the object that its handler returned.

        Raises TimedOutError if no reply arrives in time, and CallFailedError if the handler failed. Raises ConnectError
        if the object is too large or the client is closed.
        """
        with self._lock:
            if self._closed:
                raise ConnectError("E-CLOSED", f'"{self.name}" is closed', "open it again")
            deadline, number = time.monotonic() + timeout_s, next(self._numbers)
            self._half.put(Kind.CALL, number, encode(obj, self._lender), timeout_s)
            message = self._reply(number, deadline)
        if message is None:
            raise waited_in_vain(self.name, self._half.record, timeout_s)
        answer = self._made(message.payload)
        if message.kind == Kind.FAILED:
            raise CallFailedError("E-CALL-FAILED", f'the server of "{self.name}" failed: {answer}', "read its log")
        return answer

    def close(self) -> None:
        """Close the link end."""
        with self._lock:
            self._closed = True
            self._half.close()
            close_lender(self._lender)
