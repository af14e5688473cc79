"""safetensors: an array, or a dict of arrays by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

PACKAGE = "safetensors"
EXTRA = "safetensors"

ALONE = "array"


def encode(obj: Any) -> list[Any]:
    """Return one frame with a copy of the arrays."""
    arrays = {ALONE: obj} if isinstance(obj, np.ndarray) else obj
    if not isinstance(arrays, dict) or not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise CodecError("E-NO-FORM", "safetensors carries NumPy arrays, or a dict of them")
    load = import_package("safetensors.numpy", "safetensors")
    return [load.save({name: np.ascontiguousarray(array) for name, array in arrays.items()})]


def decode(frames: Sequence[Any]) -> Any:
    """Return the array or the dict; raise CodecError if the frame contains neither. safetensors copies a frame that is
    not bytes."""
    try:
        (frame,) = frames
        found: dict[str, Any] = import_package("safetensors.numpy", "safetensors").load(bytes(frame))
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a frame of safetensors: {cause}") from cause
    return found[ALONE] if list(found) == [ALONE] else found
