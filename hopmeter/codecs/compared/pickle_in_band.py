"""Encodes objects with pickle, in a single frame. A pickle is a program: decode only frames from senders that you
trust."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from hopmeter.codecs.comparison_checks import refusal
from hopmeter.codecs.errors import CodecError


def encode(obj: Any) -> list[Any]:
    """Return one frame with a copy of the whole object."""
    try:
        return [pickle.dumps(obj, protocol=5)]
    except Exception as cause:
        raise refusal("pickle", obj, str(cause), "send a plain type") from cause


def decode(frames: Sequence[Any]) -> Any:
    """Run the pickle, and return its object. Raises CodecError if the frame does not contain a pickle."""
    try:
        (frame,) = frames
        return pickle.loads(frame)
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a pickle: {cause}") from cause
