"""Provides send buffers for libraries that copy each frame, or that no longer need a frame when their send call
returns."""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, Fill

POOL_BYTES = 256 << 20


def page_aligned(size: int) -> memoryview:
    """Return `size` zero bytes that start at a page boundary.

    The kernel copies a megabyte from page-aligned memory to a TCP socket up to three times as fast as from a bytearray.
    """
    return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


class FrameBuffer:
    """A writable buffer that all frames of a link end share."""

    def __init__(self, frame_bytes: int) -> None:
        self._buffer = memoryview(bytearray(frame_bytes))
        self._frame = self._buffer

    def fill(self, payload_bytes: int, fill: Fill) -> memoryview:
        """Let the given function `fill` write a frame into the buffer, and return the frame. The returned frame is
        valid until this method is called again."""
        if len(self._frame) != HEADER_BYTES + payload_bytes:
            self._frame = self._buffer[: HEADER_BYTES + payload_bytes]
        fill(self._frame)
        return self._frame


class BufferPool:
    """A set of buffers: one buffer for small frames, which the library copies, and page-aligned buffers for large
    frames. The library sends large frames directly from their buffers, without a copy. Each large buffer has a tracker,
    which reports when the library no longer needs the buffer."""

    def __init__(self, frame_bytes: int, large_from: int) -> None:
        """Create a pool for a library that does not copy frames of `large_from` bytes or more."""
        self._large_from = large_from
        self._small = memoryview(bytearray(min(frame_bytes, large_from)))
        self.small = self._small
        """The buffer for small frames."""
        self._capacity = max(4, POOL_BYTES // frame_bytes)
        self.used: deque[tuple[memoryview, Any]] = deque()
        """The large buffers and their trackers, oldest first.

        After each large frame, append the frame's buffer with its tracker, an object with the attribute `done`. If the
        frame was not sent, append None instead of the tracker.
        """

    def take(self, length: int) -> memoryview | None:
        """Return a buffer for the next frame, or None if the library is still using all buffers."""
        if length < self._large_from:
            if len(self.small) != length:
                self.small = self._small[:length]
            return self.small
        if self.used and (self.used[0][1] is None or self.used[0][1].done):
            frame, _ = self.used.popleft()
            return frame if len(frame) == length else page_aligned(length)
        return page_aligned(length) if len(self.used) < self._capacity else None


class PartsBuffer:
    """Two writable buffers, for the header and for the payload, that all frames of a link end with typed carriage
    share."""

    def __init__(self) -> None:
        self._header = bytearray(HEADER_BYTES)
        self._payload = bytearray()

    def fill(self, payload_bytes: int, fill: Fill) -> tuple[bytearray, bytearray]:
        """Let the given function `fill` write a header and a payload into the two buffers, and return both. The header
        and the payload are valid until this method is called again."""
        if len(self._payload) != payload_bytes:
            self._payload = bytearray(payload_bytes)
        fill(self._header, self._payload)
        return self._header, self._payload


_new_bytes = ctypes.pythonapi.PyBytes_FromStringAndSize
_new_bytes.restype, _new_bytes.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_ssize_t]
_address_of = ctypes.pythonapi.PyBytes_AsString
_address_of.restype, _address_of.argtypes = ctypes.c_void_p, [ctypes.py_object]


def new_bytes(length: int) -> tuple[bytes, Any]:
    """Return an uninitialized `bytes` object and its writable memory.

    Every frame overwrites the bytes of this object. Therefore, nothing may keep a reference to the object except the
    adapter and libraries that copy the object.
    """
    made = _new_bytes(None, length)
    return made, (ctypes.c_ubyte * length).from_address(_address_of(made))


def write_frame(payload_bytes: int, fill: Fill) -> bytes:
    """Return a new frame that `fill` writes. A library may store the frame and send it later."""
    frame, places = new_bytes(HEADER_BYTES + payload_bytes)
    fill(places)
    return frame


class BytesBuffer:
    """A `bytes` object that all frames of a link end share, for a library that accepts only `bytes`.

    Every frame overwrites the bytes of this object. Therefore, nothing may keep a reference to the object except the
    adapter and libraries that copy the object.
    """

    def __init__(self) -> None:
        self._frame = b""
        self._places: Any = (ctypes.c_ubyte * 0)()

    def fill(self, payload_bytes: int, fill: Fill) -> bytes:
        """Let the given function `fill` write a frame into the buffer, and return the frame. The returned frame is
        valid until this method is called again."""
        length = HEADER_BYTES + payload_bytes
        if len(self._frame) != length:
            self._frame, self._places = new_bytes(length)
        fill(self._places)
        return self._frame
