"""Encodes objects as Arrow IPC messages: an array as a tensor message, and a table as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.arrow.layout import offset_bytes
from hopmeter.codecs.arrow.messages import contents
from hopmeter.codecs.arrow.types import has_views, nested_arrays
from hopmeter.codecs.arrow.views import check_views
from hopmeter.codecs.comparison_checks import Profile, check_with
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.reading import FREE_ROWS

PACKAGE = "pyarrow"
EXTRA = "pyarrow"


def _refuse_other(obj: Any) -> str:
    """Return the reason why Arrow IPC cannot represent an object.

    Return an empty string for a tensor, and for a table with a schema that survives serialization.
    """
    pa = import_package("pyarrow", "pyarrow")
    if type(obj) is pa.Table:
        schema = pa.ipc.read_schema(obj.schema.serialize())
        return "" if schema.equals(obj.schema, check_metadata=True) else "its schema would arrive changed"
    return "" if type(obj) is pa.Tensor else "it is neither an array nor a table"


@check_with(Profile("arrow-ipc", {}, other=_refuse_other))
def encode(obj: Any) -> list[Any]:
    """Return two frames: the kind of object, and a serialized copy of the NumPy array, tensor or Arrow table."""
    pa = import_package("pyarrow", "pyarrow")
    sink = pa.BufferOutputStream()
    if type(obj) is np.ndarray:
        pa.ipc.write_tensor(pa.Tensor.from_numpy(_contiguous(obj)), sink)
        return [b"array", memoryview(sink.getvalue())]
    if type(obj) is pa.Tensor:
        pa.ipc.write_tensor(obj, sink)
        return [b"tensor", memoryview(sink.getvalue())]
    with pa.ipc.new_stream(sink, obj.schema) as stream:
        stream.write_table(obj)
    return [b"table", memoryview(sink.getvalue())]


def _contiguous(array: Any) -> Any:
    return array if array.flags.c_contiguous or array.flags.f_contiguous else np.asarray(array, order="C")


def decode(frames: Sequence[Any]) -> Any:
    """Return the array, tensor or table, which uses the frame's memory.

    Raises CodecError if the frames do not contain an array, tensor or table. Compressed data is rejected, because its
    decompressed size is unbounded.
    """
    pa = import_package("pyarrow", "pyarrow")
    try:
        kind, frame = frames
        memory = pa.py_buffer(frame)
        if bytes(kind) in (b"array", b"tensor"):
            tensor = pa.ipc.read_tensor(pa.BufferReader(memory))
            return tensor.to_numpy() if bytes(kind) == b"array" else tensor
        return _table(pa, memory)
    except CodecError:
        raise
    except Exception as cause:
        raise CodecError("E-UNDECODABLE", f"this is not an Arrow message: {cause}") from cause


def _table(pa: Any, memory: Any) -> Any:
    found = [contents(message.metadata.to_pybytes()) for message in pa.ipc.MessageReader.open_stream(memory)]
    rows = max((rows for rows, _ in found), default=0)
    if rows > FREE_ROWS + 8 * memory.size:
        raise CodecError("E-ROWS", f"the frames contain no bytes for the {rows} rows", "remove columns without data")
    table = pa.ipc.open_stream(memory).read_all()
    table.validate(full=True)
    if any(is_odd for _, is_odd in found):
        _check_arrays(pa, table)
    return table


def _check_arrays(pa: Any, table: Any) -> None:
    """Raise CodecError for two errors that Arrow's validation misses: invalid views of missing values, and empty arrays
    with a nonzero first offset."""
    for array in [one for column in table.columns for one in nested_arrays(pa, column)]:
        width = offset_bytes(pa, array.type)
        if has_views(pa, array.type):
            check_views(array.buffers(), array.offset + len(array))
        elif width and not len(array) and _first_offset(array, width):
            raise CodecError("E-ARROW-BUFFERS", "an empty Arrow array has an offset")


def _first_offset(array: Any, width: int) -> int:
    offsets = array.buffers()[1]
    return int.from_bytes(memoryview(offsets)[:width], "little") if offsets else 0
