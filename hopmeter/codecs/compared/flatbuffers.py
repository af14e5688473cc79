"""Encodes an array in FlatBuffers, as table Array { dtype:string; shape:[int64]; data:[ubyte]; }."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, dtypes
from hopmeter.codecs.comparison_checks import Profile, check_with
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

PACKAGE = "flatbuffers"
EXTRA = "flatbuffers"

DTYPE, SHAPE, DATA = range(3)
"""The field numbers of the table."""


@check_with(Profile("flatbuffers", {}))
def encode(obj: Any) -> list[Any]:
    """Return one frame. The array's data is copied twice: into the builder's buffer, and out of this buffer."""
    builder = import_package("flatbuffers", "flatbuffers").Builder(obj.nbytes + 1024)
    fields = {
        DTYPE: builder.CreateString(json.dumps(dtypes.to_node(obj.dtype))),
        SHAPE: builder.CreateNumpyVector(np.array(obj.shape, np.int64)),
        DATA: builder.CreateNumpyVector(np.frombuffer(obj.tobytes(), np.uint8)),
    }
    builder.StartObject(len(fields))
    for number, offset in fields.items():
        builder.PrependUOffsetTRelativeSlot(number, offset, 0)
    builder.Finish(builder.EndObject())
    return [builder.Output()]


def decode(frames: Sequence[Any]) -> Any:
    """Return the array, which uses the frame's memory. Raises CodecError if the frame is not the FlatBuffers encoding
    of an array."""
    try:
        (frame,) = frames
        dtype, shape, data = _read_fields(memoryview(frame).cast("B"))
        array = np.frombuffer(data, dtypes.from_node(json.loads(bytes(dtype))))
        return arrays.valid_text(array.reshape(tuple(np.frombuffer(shape, "<i8"))))
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a table of flatbuffers: {cause}") from cause


def _read_fields(frame: memoryview) -> list[memoryview]:
    """Return each field's memory. This function checks each offset, because FlatBuffers has no verifier for Python."""
    start = _number(frame, 0, "<u4")
    slots = start - _number(frame, start, "<i4")
    vectors = [start + _number(frame, slots + 4 + 2 * field, "<u2") for field in (DTYPE, SHAPE, DATA)]
    return [
        _vector(frame, place + _number(frame, place, "<u4"), size)
        for place, size in zip(vectors, (1, 8, 1), strict=True)
    ]


def _vector(frame: memoryview, place: int, item_bytes: int) -> memoryview:
    end = place + 4 + _number(frame, place, "<u4") * item_bytes
    if end > len(frame):
        raise CodecError("E-FRAME-LENGTH", f"a vector ends at {end} of {len(frame)} bytes")
    return frame[place + 4 : end]


def _number(frame: memoryview, place: int, kind: str) -> int:
    if place < 0:
        raise CodecError("E-UNDECODABLE", "an offset points before the buffer")
    return int(np.frombuffer(frame, kind, 1, place)[0])
