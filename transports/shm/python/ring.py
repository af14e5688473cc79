"""The ring of libhopmeter_shm.so as two Python classes; ../cpp/hopmeter_shm.h describes its functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

from hopmeter.node.c_library import READ, SLOT_BITS, WRITE, CFunctions, SlotViews, load_library
from hopmeter.node.contract import AdapterError

NOTHING = -1

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
    """Return the functions that keep the interpreter lock, and those that release it."""
    return load_library("shm", FUNCTIONS)


def version() -> str:
    """Return the version that the library reports."""
    return str(library()[0].version().decode())


class Producer:
    """The producer of a ring."""

    def __init__(self, link: str, slots: int, payload_bytes: int, drop_oldest: bool) -> None:
        self._quick, self._slow = library()
        opened = self._slow.producer_open(link.encode(), slots, payload_bytes, drop_oldest)
        if opened is None:
            raise failure()
        self._handle = c_void_p(opened)
        self.address: str = self._quick.producer_address(self._handle).decode()
        self._reserve, self._publish = self._quick.producer_reserve, self._quick.producer_publish
        self._frame_of = SlotViews(functools.partial(self._quick.producer_frame, self._handle), WRITE).view

    def send(self, payload_bytes: int, fill: Callable[[memoryview], None]) -> bool:
        """Have `fill` write the next frame, and publish it. Return False if no slot is free."""
        slot = self._reserve(self._handle, payload_bytes)
        if slot < 0:
            if slot == NOTHING:
                return False
            raise failure()
        fill(self._frame_of(payload_bytes << SLOT_BITS | slot))
        self._publish(self._handle, payload_bytes)
        return True

    def close(self) -> None:
        """Close the ring."""
        self._slow.producer_close(self._handle)


class Consumer:
    """A consumer of a ring."""

    def __init__(self, address: str, link: str, may_sleep: bool) -> None:
        self._quick, self._slow = library()
        connected = self._slow.consumer_connect(address.encode(), link.encode(), may_sleep)
        if connected is None:
            raise failure()
        self._handle = c_void_p(connected)
        self._claim, self._release = self._quick.consumer_claim, self._quick.consumer_release
        self._await = self._slow.consumer_await
        self._frame_of = SlotViews(functools.partial(self._quick.consumer_frame, self._handle), READ).view

    def drain(self, most: int, take: Callable[[memoryview], None]) -> int:
        """Hand over the available frames, at most `most`; return how many."""
        for count in range(most):
            claim = self._claim(self._handle)  # releases the previous one
            if claim < 0:
                return count_or_raise(claim, count)
            take(self._frame_of(claim))
        self._release(self._handle)
        return most

    def wait(self, timeout_s: float, take: Callable[[memoryview], None]) -> int:
        """Sleep until a frame is available, the timeout passes or another thread interrupts it. Hand over the frame;
        return how many.

        This is one call, because a thread has cold caches after a sleep: every further call would cost microseconds.
        """
        claim = self._await(self._handle, int(timeout_s * 1e9))
        if claim < 0:
            return count_or_raise(claim, 0)
        take(self._frame_of(claim))
        self._release(self._handle)
        return 1

    def interrupt(self) -> None:
        """Wake another thread permanently."""
        self._quick.consumer_interrupt(self._handle)

    def close(self) -> None:
        """Leave the ring."""
        self._slow.consumer_close(self._handle)


def count_or_raise(claim: int, count: int) -> int:
    """Return how many frames came before a claim that got none; raise an error if the claim failed."""
    if claim == NOTHING:
        return count
    raise failure()


def failure() -> AdapterError:
    """Return the library's message for the last failure on this thread."""
    functions, _ = library()
    return AdapterError(functions.error().decode(), functions.remedy().decode())
