"""Frames on their way out. eCAL takes `bytes` and nothing else, and copies them before it returns."""

from __future__ import annotations

import ctypes
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, Fill

new_bytes = ctypes.pythonapi.PyBytes_FromStringAndSize
new_bytes.restype, new_bytes.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_ssize_t]
address_of = ctypes.pythonapi.PyBytes_AsString
address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object]


class Outgoing:
    """One frame of `bytes` that nobody but us and eCAL ever sees, so that it may be written again for each message."""

    def __init__(self) -> None:
        self._frame, self._places = b"", (ctypes.c_ubyte * 0)()

    def filled(self, payload_bytes: int, fill: Fill) -> bytes:
        length = HEADER_BYTES + payload_bytes
        if len(self._frame) != length:
            self._frame: Any = new_bytes(None, length)
            self._places: Any = (ctypes.c_ubyte * length).from_address(address_of(self._frame))
        fill(self._places)
        return self._frame
