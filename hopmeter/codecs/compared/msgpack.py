"""Encodes objects in MessagePack. An array becomes a map that contains the array's dtype, shape and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, dtypes
from hopmeter.codecs.comparison_checks import Profile, Rule, accept, between, check_with, encodable
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

PACKAGE = "msgpack"
EXTRA = "msgpack"
ARRAY = frozenset(("dtype", "shape", "data"))
PLAIN: dict[type, Rule] = {
    **dict.fromkeys((type(None), bool, float, bytes), accept),
    int: between(-(2**63), 2**64 - 1),
    str: encodable,
}
PROFILE = Profile("msgpack", PLAIN, keys=PLAIN, reserved=(ARRAY,))


@check_with(PROFILE)
def encode(obj: Any) -> list[Any]:
    """Return one frame with a copy of an array, or of plain objects that may contain arrays."""
    return [import_package("msgpack", "msgpack").packb(obj, default=_array)]


def _array(obj: Any) -> Any:
    return {"dtype": dtypes.to_node(obj.dtype), "shape": list(obj.shape), "data": obj.tobytes()}


def decode(frames: Sequence[Any]) -> Any:
    """Return the object, with copies of its arrays. Raises CodecError if the frame is not valid MessagePack."""
    try:
        (frame,) = frames
        return import_package("msgpack", "msgpack").unpackb(frame, object_hook=_read_array, strict_map_key=False)
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a message of msgpack: {cause}") from cause


def _read_array(found: dict[Any, Any]) -> Any:
    if found.keys() != ARRAY:
        return found
    array = np.frombuffer(found["data"], dtypes.from_node(found["dtype"])).reshape(found["shape"])
    return arrays.valid_text(array)
