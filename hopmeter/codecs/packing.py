"""All frames in one buffer, for what carries one buffer a message: a table of lengths, then each frame at a multiple
of 64 bytes from the start, so that what was aligned is so again in a receive buffer that is.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from hopmeter.codecs.checks import buffer
from hopmeter.codecs.errors import CodecError

ALIGN = 64
COUNT = struct.Struct("<Q")


def packed_bytes(frames: Sequence[Any]) -> int:
    """How long the one buffer has to be."""
    return _places([memoryview(frame).nbytes for frame in frames])[1]


def pack_into(frames: Sequence[Any], target: Any) -> int:
    """Writes all frames into a writable buffer, the only copy on the way; answers how many bytes were written."""
    lengths = [memoryview(frame).nbytes for frame in frames]
    starts, end = _places(lengths)
    into = buffer(target)
    struct.pack_into(f"<{len(lengths) + 1}Q", into, 0, len(lengths), *lengths)
    for start, length, frame in zip(starts, lengths, frames, strict=True):
        into[start : start + length] = buffer(frame)
    return end


def unpack(received: Any) -> list[memoryview]:
    """The frames, as views into the buffer; CodecError where it is shorter or longer than it says."""
    try:
        view = buffer(received)
        (count,) = COUNT.unpack_from(view)
        if count > view.nbytes // COUNT.size:
            raise CodecError(f"a message of {view.nbytes} bytes cannot hold {count} frames")
        lengths = struct.unpack_from(f"<{count}Q", view, COUNT.size)
    except (struct.error, TypeError, ValueError) as cause:
        raise CodecError("a message too short for its table of frames") from cause
    starts, end = _places(lengths)
    if end != view.nbytes:
        raise CodecError(f"a message of {view.nbytes} bytes whose frames need {end}")
    return [view[start : start + length] for start, length in zip(starts, lengths, strict=True)]


def _places(lengths: Sequence[int]) -> tuple[list[int], int]:
    starts, end = [], COUNT.size * (len(lengths) + 1)
    for length in lengths:
        starts.append(end + -end % ALIGN)
        end = starts[-1] + length
    return starts, end
