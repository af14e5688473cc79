"""Encodes objects with pickle protocol 5, with a separate frame for each buffer. A pickle is a program: decode only
frames from senders that you trust."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from hopmeter.codecs.comparison_checks import refusal
from hopmeter.codecs.errors import CodecError


def encode(obj: Any) -> list[Any]:
    """Return a frame with the pickle, followed by frames that share the object's memory."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        head = pickle.dumps(obj, protocol=5, buffer_callback=buffers.append)
        return [head, *(buffer.raw() for buffer in buffers)]
    except Exception as cause:
        raise refusal("pickle", obj, str(cause), "send a plain type") from cause


def decode(frames: Sequence[Any]) -> Any:
    """Run the pickle, and return its object, which shares the frames' memory.

    Raises CodecError if the frames do not contain a pickle.
    """
    try:
        return pickle.loads(frames[0], buffers=frames[1:])
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a pickle: {cause}") from cause
