"""Buffers for the frames that a link end sends, for libraries that copy a frame or no longer need it after their
call has returned."""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, Fill

POOL_BYTES = 256 << 20


def page_aligned(size: int) -> memoryview:
    """Return `size` zero bytes that start at a page boundary, and therefore at a cache line.

    The kernel copies a megabyte from page-aligned memory into a TCP socket up to three times as fast as from a
    bytearray.
    """
    return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


class FrameBuffer:
    """One writable buffer for all frames."""

    def __init__(self, frame_bytes: int) -> None:
        self._buffer = memoryview(bytearray(frame_bytes))
        self._frame = self._buffer

    def fill(self, payload_bytes: int, fill: Fill) -> memoryview:
        """Let `fill` write a frame, and return the frame, which is valid until the next call."""
        if len(self._frame) != HEADER_BYTES + payload_bytes:
            self._frame = self._buffer[: HEADER_BYTES + payload_bytes]
        fill(self._frame)
        return self._frame


class BufferPool:
    """One buffer for small frames, which the library copies, and page-aligned buffers for large frames, which the
    library still reads after `send` has returned. The tracker of each large buffer reports when the library no
    longer needs the buffer."""

    def __init__(self, frame_bytes: int, large_from: int) -> None:
        """Frames of `large_from` bytes or more are those that the library does not copy."""
        self._large_from = large_from
        self._small = memoryview(bytearray(min(frame_bytes, large_from)))
        self.small = self._small
        """The buffer for small frames."""
        self._capacity = max(4, POOL_BYTES // frame_bytes)
        self.used: deque[tuple[memoryview, Any]] = deque()
        """The large buffers and their trackers, oldest first. After each large frame, append the buffer with its
        tracker, an object with `done`, or with None if the frame was not sent.
        """

    def take(self, length: int) -> memoryview | None:
        """Return a buffer to fill, or None while the library still uses all buffers."""
        if length < self._large_from:
            if len(self.small) != length:
                self.small = self._small[:length]
            return self.small
        if self.used and (self.used[0][1] is None or self.used[0][1].done):
            frame, _ = self.used.popleft()
            return frame if len(frame) == length else page_aligned(length)
        return page_aligned(length) if len(self.used) < self._capacity else None


class PartsBuffer:
    """One writable header and one writable payload for all frames with typed carriage."""

    def __init__(self) -> None:
        self._header = bytearray(HEADER_BYTES)
        self._payload = bytearray()

    def fill(self, payload_bytes: int, fill: Fill) -> tuple[bytearray, bytearray]:
        """Let `fill` write a header and a payload, and return both, which are valid until the next call."""
        if len(self._payload) != payload_bytes:
            self._payload = bytearray(payload_bytes)
        fill(self._header, self._payload)
        return self._header, self._payload


_new_bytes = ctypes.pythonapi.PyBytes_FromStringAndSize
_new_bytes.restype, _new_bytes.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_ssize_t]
_address_of = ctypes.pythonapi.PyBytes_AsString
_address_of.restype, _address_of.argtypes = ctypes.c_void_p, [ctypes.py_object]


def new_bytes(length: int) -> tuple[bytes, Any]:
    """Return an uninitialized `bytes` object, and its memory for writing. Only the adapter and a library that copies
    may hold the object, because each frame overwrites it."""
    made = _new_bytes(None, length)
    return made, (ctypes.c_ubyte * length).from_address(_address_of(made))


class BytesBuffer:
    """One `bytes` object for all frames, for a library that accepts only `bytes`. Each frame overwrites this object,
    so only the adapter and a library that copies may hold it."""

    def __init__(self) -> None:
        self._frame = b""
        self._places: Any = (ctypes.c_ubyte * 0)()

    def fill(self, payload_bytes: int, fill: Fill) -> bytes:
        """Let `fill` write a frame, and return the frame, which is valid until the next call."""
        length = HEADER_BYTES + payload_bytes
        if len(self._frame) != length:
            self._frame, self._places = new_bytes(length)
        fill(self._places)
        return self._frame
