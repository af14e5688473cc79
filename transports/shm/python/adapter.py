"""The Python adapter for the ring in ../rust, through the C ABI in ../cpp/hopmeter_shm.h. ../README.md describes the
ring."""

from __future__ import annotations

import functools
import threading
from ctypes import c_char_p, c_int, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

from hopmeter.node.base import BaseTransport
from hopmeter.node.c_library import READ, SLOT_BITS, WRITE, CFunctions, SlotViews, load_library
from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Take

NAP_S = 1.0
"""The longest sleep of a callback receiver; closing the receiver interrupts the sleep."""

FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "error": (c_char_p, []),
    "remedy": (c_char_p, []),
    "producer_open": (c_void_p, [c_char_p, c_uint32, c_uint64, c_int]),
    "producer_address": (c_char_p, [c_void_p]),
    "producer_frame": (c_void_p, [c_void_p, c_uint32]),
    "producer_reserve": (c_int64, [c_void_p, c_uint64]),
    "producer_publish": (None, [c_void_p, c_uint64]),
    "producer_close": (None, [c_void_p]),
    "consumer_connect": (c_void_p, [c_char_p, c_char_p, c_int]),
    "consumer_frame": (c_void_p, [c_void_p, c_uint32]),
    "consumer_claim": (c_int64, [c_void_p]),
    "consumer_release": (None, [c_void_p]),
    "consumer_await": (c_int64, [c_void_p, c_uint64]),
    "consumer_interrupt": (None, [c_void_p]),
    "consumer_close": (None, [c_void_p]),
}


@functools.cache
def library() -> tuple[CFunctions, CFunctions]:
    """Return the library's functions twice: one set holds the interpreter lock during a call, and the other set
    releases it."""
    return load_library("shm", FUNCTIONS)


def demand(result: int | None) -> int:
    """Return a handle or a count. Raise an error with the library's message if the call failed."""
    return library()[0].demand(result)


class Publisher:
    def __init__(self, link: Link, slots: int, payload_bytes: int, drop_oldest: bool) -> None:
        quick, slow = library()
        self._handle = c_void_p(demand(slow.producer_open(link.name.encode(), slots, payload_bytes, drop_oldest)))
        self.address: str = quick.producer_address(self._handle).decode()
        self._reserve, self._publish = quick.producer_reserve, quick.producer_publish
        self._frame_of = SlotViews(functools.partial(quick.producer_frame, self._handle), WRITE).view

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        slot = self._reserve(self._handle, payload_bytes)
        if slot < 0:
            demand(slot)
            return False
        fill(self._frame_of(payload_bytes << SLOT_BITS | slot))
        self._publish(self._handle, payload_bytes)
        return True

    def close(self) -> None:
        library()[1].producer_close(self._handle)


class Consumer:
    def __init__(self, link: Link, may_sleep: bool) -> None:
        quick, slow = library()
        self._handle = c_void_p(demand(slow.consumer_connect(link.address.encode(), link.name.encode(), may_sleep)))
        self._claim, self._release, self._await = quick.consumer_claim, quick.consumer_release, slow.consumer_await
        self._frame_of = SlotViews(functools.partial(quick.consumer_frame, self._handle), READ).view

    def drain(self, most: int, take: Take) -> int:
        """Pass on at most `most` available frames, and return the number of these frames."""
        for count in range(most):
            claim = self._claim(self._handle)  # releases the previous frame
            if claim < 0:
                demand(claim)
                return count
            take(self._frame_of(claim))
        self._release(self._handle)
        return most

    def wait(self, timeout_s: float, take: Take) -> int:
        """Sleep until a frame is available, the timeout passes or another thread interrupts the sleep.

        Pass on the frame, if one arrived, and return the number of frames (0 or 1). A single library call both sleeps
        and claims a frame: the caches are cold after a sleep, so every further call costs microseconds.
        """
        claim = self._await(self._handle, int(timeout_s * 1e9))
        if claim < 0:
            demand(claim)
            return 0
        take(self._frame_of(claim))
        self._release(self._handle)
        return 1

    def close(self) -> None:
        library()[1].consumer_close(self._handle)


class Subscriber(Consumer):
    """A polled subscription, which sleeps in the ring if the link's wait is `block`."""

    def __init__(self, link: Link, sleeps: bool, slots: int) -> None:
        super().__init__(link, sleeps)
        self._sleeps = sleeps
        self._at_once = slots  # so that a poll ends even if the sender is faster

    def poll(self, timeout_s: float, take: Take) -> int:
        count = self.drain(self._at_once, take)
        if count or not self._sleeps:
            return count
        return self.wait(timeout_s, take)


class Subscription(Consumer):
    """A receiver with a thread that sleeps in the ring and calls the callback."""

    def __init__(self, link: Link, on_frame: Take) -> None:
        super().__init__(link, may_sleep=True)
        self._on_frame, self._over = on_frame, False
        self._thread = threading.Thread(target=self._run, name="shm-callback", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            if not self.drain(1, self._on_frame):
                self.wait(NAP_S, self._on_frame)

    def close(self) -> None:
        self._over = True
        library()[0].consumer_interrupt(self._handle)
        self._thread.join()
        super().close()


class Transport(BaseTransport):
    path = "shared memory (memfd)"

    @staticmethod
    def version() -> str:
        return str(library()[0].version().decode())

    def publisher(self, link: Link) -> Publisher:
        drop_oldest = self.settings["when_full"] == "drop_oldest"
        return Publisher(link, self.settings["slots"], link.frame_bytes - HEADER_BYTES, drop_oldest)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(link, link.wait != "spin", self.settings["slots"])

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(link, on_frame)
