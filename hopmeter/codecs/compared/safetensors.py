"""Encodes an array, or a dict of arrays by name, in safetensors."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.comparison_checks import Profile, check_with, encodable, refusal
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

PACKAGE = "safetensors"
EXTRA = "safetensors"

ALONE = "array"
METADATA = "__metadata__"
LENGTH = struct.Struct("<Q")


def _refuse_name(name: str) -> str:
    return "safetensors needs this name itself" if name == METADATA else encodable(name)


PROFILE = Profile("safetensors", {}, keys={str: _refuse_name}, lists=False, depth=1, reserved=(frozenset((ALONE,)),))


@check_with(PROFILE)
def encode(obj: Any) -> list[Any]:
    """Return one frame with a copy of the arrays."""
    arrays = {ALONE: obj} if type(obj) is np.ndarray else obj
    load = import_package("safetensors.numpy", "safetensors")
    frame = load.save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    if len(arrays) > 1 and (order := _names(frame)) != list(arrays):
        raise refusal("safetensors", obj, "in this order", f"order the arrays: {', '.join(order)[:200]}")
    return [frame]


def _names(frame: bytes) -> list[str]:
    """Return the array names in the order in which the frame stores the arrays. The safetensors library itself returns
    the names in arbitrary order."""
    (size,) = LENGTH.unpack_from(frame)
    return [name for name in json.loads(frame[LENGTH.size : LENGTH.size + size]) if name != METADATA]


def decode(frames: Sequence[Any]) -> Any:
    """Return the array, or the dict of arrays. Raises CodecError if the frame is not in the safetensors format.

    Frames of any type other than bytes are copied, because safetensors accepts only bytes.
    """
    try:
        (frame,) = frames
        found: dict[str, Any] = import_package("safetensors.numpy", "safetensors").load(bytes(frame))
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a frame of safetensors: {cause}") from cause
    if list(found) == [ALONE]:
        return found[ALONE]
    return {name: found[name] for name in _names(bytes(frame))} if len(found) > 1 else found
