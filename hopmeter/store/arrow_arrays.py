"""Convert arrays or rows to Arrow tables, and Arrow columns to arrays. pyarrow's own conversions start slowly, because
they import pandas if pandas is installed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[Any]


def to_arrow(values: Array, valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an Arrow array that contains null where `valid` is false. A contiguous array is not copied."""
    bits = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(np.ascontiguousarray(values))])


def to_table(columns: Mapping[str, Array]) -> pa.Table:
    """Return columns of numbers as an Arrow table."""
    return pa.Table.from_arrays([to_arrow(values) for values in columns.values()], names=list(columns))


def to_numpy(column: pa.ChunkedArray, null: int = 0) -> Array:
    """Return a column of numbers as a NumPy array, in which the value `null` replaces null values."""
    kind = np.dtype(column.type.to_pandas_dtype())
    parts = [_chunk_numbers(chunk, kind, null) for chunk in column.chunks if len(chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, kind), *parts])


def _chunk_numbers(chunk: pa.Array, kind: np.dtype[Any], null: int) -> Array:
    bits, content = chunk.buffers()
    numbers = np.frombuffer(content, kind, len(chunk), chunk.offset * kind.itemsize)
    if not chunk.null_count:
        return numbers
    valid = np.unpackbits(np.frombuffer(bits, np.uint8), count=chunk.offset + len(chunk), bitorder="little")
    return np.where(valid[chunk.offset :], numbers, kind.type(null))


def rows_to_table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as an Arrow table with the columns of the schema."""
    lines = "\n".join(json.dumps({name: row.get(name) for name in schema.names}) for row in rows).encode()
    if not lines:
        return pa.Table.from_batches([], schema)
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    whole = ReadOptions(use_threads=False, block_size=len(lines) + 1)
    return read_json(io.BytesIO(lines), whole, ParseOptions(explicit_schema=schema))
