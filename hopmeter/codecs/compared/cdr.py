"""Encodes an array in CDR, as the ROS 2 message { string dtype; int64[] shape; uint8[] data; }."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, dtypes
from hopmeter.codecs.comparison_checks import Profile, check_with
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

PACKAGE = "rosbags"
EXTRA = "cdr"

NAME = "hopmeter/msg/Array"
BASE, SEQUENCE = 1, 4
"""The numbers by which rosbags identifies base types and sequences."""
FIELDS = [
    ("dtype", (BASE, ("string", 0))),
    ("shape", (SEQUENCE, ((BASE, ("int64", 0)), 0))),
    ("data", (SEQUENCE, ((BASE, ("uint8", 0)), 0))),
]


@functools.cache
def _store() -> Any:
    store = import_package("rosbags.typesys.store", EXTRA).Typestore()
    store.register({NAME: ([], FIELDS)})
    return store


@check_with(Profile("cdr", {}))
def encode(obj: Any) -> list[Any]:
    """Return one frame. The array's data is copied twice: out of the array, and into the message."""
    dtype = json.dumps(dtypes.to_node(obj.dtype))
    data = np.frombuffer(obj.tobytes(), np.uint8)
    message = _store().types[NAME](dtype, np.array(obj.shape, np.int64), data)
    return [_store().serialize_cdr(message, NAME, little_endian=True)]


def decode(frames: Sequence[Any]) -> Any:
    """Return the array, which uses the frame's memory. Raises CodecError if the frame is not the CDR encoding of an
    array."""
    try:
        (frame,) = frames
        found = _store().deserialize_cdr(memoryview(frame).cast("B"), NAME)
        dtype = dtypes.from_node(json.loads(found.dtype))
        return arrays.valid_text(np.frombuffer(found.data, dtype).reshape(tuple(found.shape)))
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a message of cdr: {cause}") from cause
