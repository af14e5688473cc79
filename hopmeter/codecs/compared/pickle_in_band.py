"""pickle, everything in one frame. A pickle is a program: decode only what someone you trust has sent."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from hopmeter.codecs.errors import CodecError


def encode(obj: Any) -> list[Any]:
    """One frame with a copy of everything."""
    return [pickle.dumps(obj, protocol=5)]


def decode(frames: Sequence[Any]) -> Any:
    """Run the pickle; raise CodecError if it is none."""
    try:
        (frame,) = frames
        return pickle.loads(frame)
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"no pickle: {cause}") from cause
