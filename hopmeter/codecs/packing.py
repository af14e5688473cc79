"""Packs all frames into one buffer, for transports that carry one buffer per message.

The buffer begins with a table of lengths. Each frame begins at a multiple of 64 bytes from the start, so that an
aligned receive buffer yields aligned frames.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from hopmeter.codecs.checks import buffer
from hopmeter.codecs.errors import CodecError

ALIGN = 64
COUNT = struct.Struct("<Q")
KEPT = 256
"""The number of cached layouts, for packing and for unpacking. Layouts are cached because similar objects have the same
layout, and computing a layout takes longer than encoding an object."""
KEPT_FRAMES = 32
"""The maximum number of frames of a cached layout, because a malicious sender could send arbitrarily many layouts."""


class Layout(NamedTuple):
    """The positions of all frames in the buffer."""

    table: bytes
    """The table at the start of the buffer: the number of frames, then their lengths."""
    places: tuple[slice, ...]
    end: int


def packed_bytes(frames: Sequence[Any]) -> int:
    """Return the size in bytes of the buffer that these frames need."""
    return _layout_for(frames).end


def pack_into(frames: Sequence[Any], target: Any) -> int:
    """Copy all frames into a writable buffer, and return the number of bytes written.

    While an object is sent, only this function copies the object's memory.
    """
    table, places, end = _layout_for(frames)
    into = buffer(target)
    into[: len(table)] = table
    for place, frame in zip(places, frames, strict=True):
        into[place] = buffer(frame)
    return end


def unpack(received: Any) -> list[memoryview]:
    """Return the frames as views into the buffer. Raises CodecError if the buffer's length does not match its table."""
    try:
        view = buffer(received)
        (count,) = COUNT.unpack_from(view)
        if count > view.nbytes // COUNT.size:
            raise CodecError("E-FRAME-COUNT", f"a message of {view.nbytes} bytes cannot contain {count} frames")
        table = view[: COUNT.size * (count + 1)].tobytes()
        _, places, end = (_read_layout_cached if count <= KEPT_FRAMES else _read_layout)(table)
    except (struct.error, TypeError, ValueError) as cause:
        raise CodecError("E-FRAME-LENGTH", "the message is too short for its table of frames") from cause
    if end != view.nbytes:
        raise CodecError("E-FRAME-LENGTH", f"the message has {view.nbytes} bytes, but its frames need {end}")
    return [view[place] for place in places]


def _layout_for(frames: Sequence[Any]) -> Layout:
    lengths = tuple([memoryview(frame).nbytes for frame in frames])
    return (_layout_cached if len(lengths) <= KEPT_FRAMES else _layout)(lengths)


def _layout(lengths: tuple[int, ...]) -> Layout:
    places, end = [], COUNT.size * (len(lengths) + 1)
    for length in lengths:
        start = end + -end % ALIGN
        end = start + length
        places.append(slice(start, end))
    return Layout(struct.pack(f"<{len(lengths) + 1}Q", len(lengths), *lengths), tuple(places), end)


def _read_layout(table: bytes) -> Layout:
    """Return the positions of all frames, computed from the table of frame lengths. Raises struct.error if the table is
    truncated."""
    (count,) = COUNT.unpack_from(table)
    return _layout(struct.unpack_from(f"<{count}Q", table, COUNT.size))


_layout_cached = functools.lru_cache(KEPT)(_layout)
_read_layout_cached = functools.lru_cache(KEPT)(_read_layout)
