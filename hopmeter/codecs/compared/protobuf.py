"""Encodes an array in Protocol Buffers, as message Array { string dtype; repeated int64 shape; bytes data; }."""

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

PACKAGE = "google.protobuf"
EXTRA = "protobuf"

FIELDS = (("dtype", 9, 1), ("shape", 3, 3), ("data", 12, 1))
"""Each field's name, type number and label number. descriptor.proto defines the numbers."""


@functools.cache
def _message() -> Any:
    pb2 = import_package("google.protobuf.descriptor_pb2", "protobuf")
    file = pb2.FileDescriptorProto(name="hopmeter_array.proto", package="hopmeter", syntax="proto3")
    message = file.message_type.add(name="Array")
    for number, (name, kind, label) in enumerate(FIELDS, 1):
        message.field.add(name=name, number=number, type=kind, label=label)
    pool = import_package("google.protobuf.descriptor_pool", "protobuf").DescriptorPool()
    pool.Add(file)
    factory = import_package("google.protobuf.message_factory", "protobuf")
    return factory.GetMessageClass(pool.FindMessageTypeByName("hopmeter.Array"))


@check_with(Profile("protobuf", {}))
def encode(obj: Any) -> list[Any]:
    """Return one frame. The array's data is copied twice: into the message, and into the serialized bytes."""
    dtype = json.dumps(dtypes.to_node(obj.dtype))
    return [_message()(dtype=dtype, shape=obj.shape, data=obj.tobytes()).SerializeToString()]


def decode(frames: Sequence[Any]) -> Any:
    """Return the array, which protobuf copies. Raises CodecError if the frame is not the Protocol Buffers encoding of
    an array."""
    try:
        (frame,) = frames
        found = _message().FromString(bytes(frame))
        dtype = dtypes.from_node(json.loads(found.dtype))
        return arrays.valid_text(np.frombuffer(found.data, dtype).reshape(tuple(found.shape)))
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not a message of protobuf: {cause}") from cause
