"""The Python adapter for the sender and receiver in ../rust, through the C ABI in ../cpp/hopmeter_synthetic.h.

../README.md describes the plan.
"""

from __future__ import annotations

import functools
import json
from ctypes import c_char_p, c_int, c_int64, c_uint64, c_void_p
from typing import Any

from hopmeter.node.base import BaseTransport
from hopmeter.node.c_library import READ, WRITE, CFunctions, load_library, view_memory
from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Setup, Take

FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "error": (c_char_p, []),
    "remedy": (c_char_p, []),
    "sender_open": (c_void_p, [c_char_p, c_char_p, c_uint64]),
    "sender_address": (c_char_p, [c_void_p]),
    "sender_reserve": (c_int64, [c_void_p, c_uint64]),
    "sender_publish": (None, [c_void_p, c_uint64]),
    "sender_close": (None, [c_void_p]),
    "receiver_connect": (c_void_p, [c_char_p, c_char_p, c_char_p, c_int]),
    "receiver_next": (c_int64, [c_void_p, c_uint64]),
    "receiver_frame": (c_void_p, [c_void_p]),
    "receiver_close": (None, [c_void_p]),
}


@functools.cache
def library() -> tuple[CFunctions, CFunctions]:
    """Return the library's functions twice: one set holds the interpreter lock during a call, and the other set
    releases it."""
    return load_library("synthetic", FUNCTIONS)


class Publisher:
    def __init__(self, link: Link, settings: bytes) -> None:
        quick, slow = library()
        self._handle = c_void_p(quick.demand(slow.sender_open(link.name.encode(), settings, link.frame_bytes)))
        self.address: str = quick.sender_address(self._handle).decode()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        quick, slow = library()
        memory = quick.sender_reserve(self._handle, payload_bytes)
        if memory < 0:
            quick.demand(memory)
            return False
        fill(view_memory(memory, HEADER_BYTES + payload_bytes, WRITE))
        slow.sender_publish(self._handle, payload_bytes)  # blocks if the plan stalls
        return True

    def close(self) -> None:
        library()[1].sender_close(self._handle)


class Subscriber:
    def __init__(self, link: Link, settings: bytes) -> None:
        quick, slow = library()
        self._sleeps = link.wait != "spin"
        address, name = link.address.encode(), link.name.encode()
        self._handle = c_void_p(quick.demand(slow.receiver_connect(address, name, settings, self._sleeps)))

    def poll(self, timeout_s: float, take: Take) -> int:
        quick, slow = library()
        if self._sleeps:
            length = slow.receiver_next(self._handle, int(timeout_s * 1e9))
        else:
            length = quick.receiver_next(self._handle, 0)
        if length < 0:
            quick.demand(length)
            return 0
        take(view_memory(quick.receiver_frame(self._handle), length, READ))
        return 1

    def close(self) -> None:
        library()[1].receiver_close(self._handle)


class Transport(BaseTransport):
    path = "shared memory (memfd), held according to the plan"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._settings = json.dumps(setup.settings).encode()

    @staticmethod
    def version() -> str:
        return str(library()[0].version().decode())

    def publisher(self, link: Link) -> Publisher:
        return Publisher(link, self._settings)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(link, self._settings)
