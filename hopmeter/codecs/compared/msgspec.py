"""Encodes objects in MessagePack with msgspec. An array is encoded as an extension value, which contains the array's
dtype and shape, and then its bytes.

Unlike the package msgpack, msgspec passes an extension value on without a copy, so arrays refer to the frame's memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, dtypes
from hopmeter.codecs.comparison_checks import Profile, Rule, accept, between, check_with, encodable
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

PACKAGE = "msgspec"
EXTRA = "msgspec"
ARRAY = 1
"""The code of the extension value."""
LENGTH = struct.Struct("<I")
"""The length of the description, which precedes the description and the array's bytes."""
PLAIN: dict[type, Rule] = {
    **dict.fromkeys((type(None), bool, float, bytes), accept),
    int: between(-(2**63), 2**64 - 1),
    str: encodable,
}
PROFILE = Profile("msgspec", PLAIN, keys=PLAIN)


def _msgpack() -> Any:
    return import_package("msgspec.msgpack", "msgspec")


@check_with(PROFILE)
def encode(obj: Any) -> list[Any]:
    """Return one frame with a copy of an array, or of plain objects that may contain arrays."""
    return [_msgpack().encode(obj, enc_hook=_array)]


def _array(obj: Any) -> Any:
    description = _msgpack().encode((dtypes.to_node(obj.dtype), obj.shape))
    return _msgpack().Ext(ARRAY, b"".join((LENGTH.pack(len(description)), description, obj.tobytes())))


def decode(frames: Sequence[Any]) -> Any:
    """Return the object, whose arrays refer to the frame's memory. Raises CodecError if the frame is not
    MessagePack."""
    try:
        (frame,) = frames
        return _msgpack().decode(frame, ext_hook=_read_array)
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a message of msgspec: {cause}") from cause


def _read_array(code: int, data: memoryview) -> Any:
    if code != ARRAY:
        raise CodecError("E-UNDECODABLE", f"msgspec: {code} is not the code of an array")
    begin = LENGTH.size + LENGTH.unpack_from(data)[0]
    dtype, shape = _msgpack().decode(data[LENGTH.size : begin], type=tuple[Any, list[int]])
    return arrays.valid_text(np.frombuffer(data[begin:], dtypes.from_node(dtype)).reshape(shape))
