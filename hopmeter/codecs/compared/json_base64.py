"""Encodes objects as JSON. Arrays are stored in NumPy's file format in base64, as in Wrapyfi's plugins."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs import arrays
from hopmeter.codecs.comparison_checks import Profile, accept, between, check_with
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.header import has_pairs

MARK = "__numpy__"
MOST_DIGITS = 4000
"""The maximum number of digits of an integer. Python parses integers of at most 4300 digits."""
PLAIN = {type(None): accept, bool: accept, int: between(1 - 10**MOST_DIGITS, 10**MOST_DIGITS - 1)}


def _refuse_infinite(value: float) -> str:
    return "" if math.isfinite(value) else "JSON has no such number"


def _refuse_pairs(text: str) -> str:
    return "JSON joins a surrogate pair" if has_pairs(text) else ""


PROFILE = Profile(
    "json-base64",
    {**PLAIN, float: _refuse_infinite, str: _refuse_pairs},
    keys={str: _refuse_pairs},
    reserved=(frozenset((MARK,)),),
)


@check_with(PROFILE)
def encode(obj: Any) -> list[Any]:
    """Return one frame with the whole object as JSON text. Base64 makes an array's data a third larger."""
    return [json.dumps(obj, default=_array).encode("ascii")]


def _array(obj: Any) -> Any:
    file = io.BytesIO()
    np.save(file, obj, allow_pickle=False)
    return {MARK: base64.b64encode(file.getvalue()).decode("ascii")}


def decode(frames: Sequence[Any]) -> Any:
    """Return the object, without unpickling. Raises CodecError if the frame is not the JSON text of an object."""
    try:
        (frame,) = frames
        return json.loads(bytes(frame), object_hook=_read_array)
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not an object of json-base64: {cause}") from cause


def _read_array(found: dict[str, Any]) -> Any:
    if found.keys() != {MARK}:
        return found
    return arrays.valid_text(np.load(io.BytesIO(base64.b64decode(found[MARK])), allow_pickle=False))
