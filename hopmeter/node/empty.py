"""The empty transport, whose `send` calls the receiver directly.

If the receiver runs on the sender's thread, the time of a hop is only the instrument's own overhead.
"""

from __future__ import annotations

from typing import Any

from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Take


class _Caller:
    address = ""

    def __init__(self, called: list[Take]) -> None:
        self._called = called
        self._frame = bytearray()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        frame = self._frame
        if len(frame) != HEADER_BYTES + payload_bytes:
            frame = self._frame = bytearray(HEADER_BYTES + payload_bytes)
        fill(frame)
        for on_frame in self._called:
            on_frame(frame)
        return True

    def close(self) -> None:
        """Do nothing, because the empty transport has nothing to release."""


class _Registered:
    def __init__(self, called: list[Take], on_frame: Take) -> None:
        self._called = called
        called.append(on_frame)

    def close(self) -> None:
        self._called.clear()


class Transport:
    """A transport that opens only publishers and subscriptions. The instrument's `empty_hop.rs` needs no other link
    ends."""

    def __init__(self, _setup: Any) -> None:
        self._called: list[Take] = []

    def publisher(self, _link: Link) -> _Caller:
        """Return a publisher whose method `send` calls the receiver."""
        return _Caller(self._called)

    def subscribe(self, _link: Link, on_frame: Take) -> _Registered:
        """Register `on_frame` as the receiver until the returned object is closed."""
        return _Registered(self._called, on_frame)

    def close(self) -> None:
        """Do nothing, because the empty transport has nothing to release."""
