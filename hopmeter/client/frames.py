"""Frames: hopmeter's 64-byte header, followed by an object's packed frames. Adapters can transport the frames
unchanged, because measured messages begin with the same header."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from hopmeter.codecs.packing import pack_into, packed_bytes

HEADER = struct.Struct("<4sHHQIIQqqQII")
"""The header fields, in order: magic, version, flags, run, pair (the frame's kind), 0, seq (the message number), due
time, send time, length, checksum, 0."""
MAGIC = b"HOPM"
VERSION = 1
ALIGN = 64


class Kind(IntEnum):
    """The kind of a frame, stored in the header's `pair` field."""

    OBJECT = 1
    CALL = 2
    REPLY = 3
    FAILED = 4
    PROBE = 5
    ANSWER = 6


class Message(NamedTuple):
    """A received frame with its own copy of the payload."""

    kind: int
    number: int
    payload: Any
    due_ns: int = 0
    """The due time of the message on CLOCK_MONOTONIC, which all processes of one machine share."""
    sent_ns: int = 0
    """The time when the message was sent. By default, this is the time at which the frame was written; the sender may
    instead report the time before encoding."""
    arrived_ns: int = 0
    """The time when the transport delivered the frame to this link end, before the payload was copied."""


def outgoing(
    kind: Kind, number: int, run: str, frames: Sequence[Any], times: tuple[int, int] | None = None
) -> tuple[int, Callable[..., None]]:
    """Return the frame's length, without the header, and a function that writes the frame into one or two transport
    buffers.

    `times` are the due time and the send time in nanoseconds. By default, both are the time at which the frame is
    written.
    """
    length = packed_bytes(frames)

    def fill(frame: Any, payload: Any = None) -> None:
        head = plain(frame)
        due, sent = times or (time.monotonic_ns(),) * 2
        HEADER.pack_into(head, 0, MAGIC, VERSION, 0, int(run, 16), kind, 0, number, due, sent, length, 0, 0)
        pack_into(frames, head[HEADER.size :] if payload is None else plain(payload))

    return length, fill


def incoming(run: str, frame: Any, payload: Any = None) -> Message | None:
    """Copy a frame out of loaned memory. Return None if the frame does not belong to this link."""
    arrived = time.monotonic_ns()
    head = plain(frame)
    body = head[HEADER.size :] if payload is None else plain(payload)
    if head.nbytes < HEADER.size:
        return None
    magic, version, _, of, kind, _, number, due, sent, length, _, _ = HEADER.unpack_from(head)
    if (magic, version, of, length) != (MAGIC, VERSION, int(run, 16), body.nbytes):
        return None
    return Message(kind, number, _copy_aligned(body), due, sent, arrived)


def plain(data: Any) -> memoryview:
    """Return the bytes of any buffer, without a copy, as a contiguous memoryview. Buffers with a ctypes format that
    memoryviews cannot cast are supported."""
    view = memoryview(data)
    if view.format == "B" and view.ndim == 1:
        return view
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        return np.frombuffer(data, np.uint8).data


def _copy_aligned(body: memoryview) -> memoryview:
    """Copy a payload into writable memory aligned to 64 bytes. The objects that `decode` returns share the memory of
    the copy."""
    room = np.empty(body.nbytes + ALIGN, np.uint8)
    start = -room.ctypes.data % ALIGN
    copy = room.data[start : start + body.nbytes]
    copy[:] = body
    return copy
