"""The Arrow codec: arrays, chunked arrays, record batches, tables, schemas, tensors and buffers.

Each buffer is sent as one frame, without a copy.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.arrow.buffers import array_maker
from hopmeter.codecs.arrow.parts import extent, memory_of, parts
from hopmeter.codecs.arrow.types import schema_of
from hopmeter.codecs.checks import buffer, integer, listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import codec_named, import_package
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import KEPT, Frames, frames_by_nodes, refusal

ROOTS = ("pyarrow",)
EXTRA = "pyarrow"

_schemas: dict[Any, str] = {}
_heads: dict[Any, tuple[bytes, slice, slice]] = {}


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Append an Arrow object's buffers to `frames`, and return the object's header node. The header node includes the
    object's Arrow type."""
    pa = import_package("pyarrow", EXTRA)
    if isinstance(obj, pa.Array):
        return f'["arrow.array",{_type(pa, obj.type)},{parts(pa, obj, frames)}]'
    if isinstance(obj, pa.Table | pa.RecordBatch):
        return _table(pa, obj, frames)
    if isinstance(obj, pa.ChunkedArray):
        return f'["arrow.chunked",{_type(pa, obj.type)},{_chunks(pa, obj, frames)}]'
    if isinstance(obj, pa.Tensor):
        names = f",{json.dumps(obj.dim_names)}" if obj.dim_names else ""
        return f'["arrow.tensor",{arrays.write(obj.to_numpy(), frames)}{names}]'
    if isinstance(obj, pa.Schema):
        return f'["arrow.schema",{_schema(obj)}]'
    if isinstance(obj, pa.Buffer):
        frames.append(memory_of(obj))
        return '["arrow.buffer"]'
    raise refusal(obj, "send arrays, tables, tensors, schemas or buffers")


def simple() -> dict[type, Any]:
    """Map each array class that has a fixed type and exactly two buffers (validity and values) to the function
    `whole`."""
    pa = import_package("pyarrow", EXTRA)
    kinds = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
    return {getattr(pa, f"{kind}Array"): whole for kind in (*kinds, "Float", "Double")}


def whole(array: Any) -> Frames:
    """Return the complete encoding of an array: the header and the data frames. For a known type and length, the
    function needs only one cache lookup."""
    present, data = array.buffers()
    if data is None or not data.size:
        return frames_by_nodes(array)
    key = (type(array), len(array), array.offset, present is None)
    kept = _heads.get(key)
    if kept is None:
        return _first_frames(key, array)
    head, marks, values = kept
    memory = memoryview(data).cast("B")[values]
    return [head, memory] if present is None else [head, memory_of(present)[marks], memory]


def _first_frames(key: Any, array: Any) -> Frames:
    frames = frames_by_nodes(array)
    if len(_heads) >= KEPT:
        _heads.clear()
    _, marks, values = extent(array, 0, (1, array.type.bit_width), key[3])
    _heads[key] = frames[0], marks, values
    return frames


WHOLE = simple


def _table(pa: Any, obj: Any, frames: Frames) -> str:
    if isinstance(obj, pa.RecordBatch):
        columns = [parts(pa, column, frames) for column in obj.columns]
        return f'["arrow.batch",{_schema(obj.schema)},{obj.num_rows},[{",".join(columns)}]]'
    columns = [_chunks(pa, column, frames) for column in obj.columns]
    return f'["arrow.table",{_schema(obj.schema)},{obj.num_rows},[{",".join(columns)}]]'


def _chunks(pa: Any, column: Any, frames: Frames) -> str:
    return f"[{','.join([parts(pa, chunk, frames) for chunk in column.chunks])}]"


def _type(pa: Any, of: Any) -> str:
    """Return an Arrow type as JSON text.

    A type with fields is not cached, because pyarrow treats two such types as equal even if their metadata differs.
    """
    known = None if of.num_fields else _schemas.get(of)
    return known or _schema_text(of, pa.schema([pa.field("", of)]))


def _schema(schema: Any) -> str:
    return json.dumps(base64.b64encode(schema.serialize()).decode())


def _schema_text(of: Any, schema: Any) -> str:
    if len(_schemas) >= KEPT:
        _schemas.clear()
    _schemas[of] = _schema(schema)
    return _schemas[of]


def _validating_maker(reading: Reading, make: Maker) -> Maker:
    devices.refuse_gpu("Arrow", reading.device)
    adopt = None if reading.as_ in (None, "pyarrow") else adopter(reading.as_)

    def make_valid(frames: Any) -> Any:
        made = make(frames)
        made.validate(full=True)
        return made if adopt is None else adopt(made)

    return make_valid


def adopter(name: str) -> Any:
    """Return a function that converts Arrow arrays and tables to a framework's objects.

    The returned function raises CodecError if the conversion is impossible.
    """
    if name == "pyarrow":
        return lambda made: made
    adopt = getattr(codec_named(name), "adopt", None)
    if adopt is None:
        raise CodecError(
            "E-RECEIVE-AS",
            f"Arrow data cannot be received as {name}",
            "choose numpy, pandas or polars, or omit the framework",
        )
    return adopt


def _read_array(node: list[Any], reading: Reading) -> Maker:
    _, of, inner = listing(node, 3)
    return _validating_maker(reading, array_maker(inner, schema_of(of).field(0).type, reading))


def _read_chunked(node: list[Any], reading: Reading) -> Maker:
    _, of, inner = listing(node, 3)
    return _validating_maker(reading, _chunked_maker(listing(inner), schema_of(of).field(0).type, reading))


def _chunked_maker(node: list[Any], of: Any, reading: Reading) -> Maker:
    pa = import_package("pyarrow", EXTRA)
    makers = [array_maker(chunk, of, reading) for chunk in node]

    def make(frames: Any) -> Any:
        chunks = [one(frames) for one in makers]
        for chunk in chunks:
            chunk.validate(full=True)
        return pa.chunked_array(chunks, of)

    return make


def _read_table(node: list[Any], reading: Reading) -> Maker:
    pa = import_package("pyarrow", EXTRA)
    tag, of, rows, columns = listing(node, 4)
    schema, kind = schema_of(of), pa.RecordBatch if tag == "arrow.batch" else pa.Table
    one = array_maker if tag == "arrow.batch" else _chunked_maker
    makers = [one(column, field.type, reading) for column, field in zip(listing(columns), schema, strict=True)]
    if not makers:
        reading.free += integer(rows)
        return _validating_maker(reading, _table_without_columns(kind, rows, schema))

    def make(frames: Any) -> Any:
        table = kind.from_arrays([make(frames) for make in makers], schema=schema)
        if table.num_rows != rows:
            raise CodecError("E-ROWS", f"a table has {table.num_rows} rows, but announces {rows}")
        return table

    return _validating_maker(reading, make)


def _table_without_columns(kind: Any, rows: int, schema: Any) -> Maker:
    """Return a function that returns a table with `rows` rows and no columns.

    The table is built from a column of nulls, which needs no memory.
    """
    pa = import_package("pyarrow", EXTRA)
    whole = pa.schema([pa.field("", pa.null())], schema.metadata)
    table = kind.from_arrays([pa.Array.from_buffers(pa.null(), rows, [None])], schema=whole).select([])
    return lambda _: table


def _read_tensor(node: list[Any], reading: Reading) -> Maker:
    pa = import_package("pyarrow", EXTRA)
    _, array, *names = listing(node, None if len(node) == 3 else 2)
    make = reading.maker(array)
    if reading.as_ not in (None, "pyarrow"):
        return make
    called = [text(name) for name in listing(names[0])] if names else None

    def build(frames: Any) -> Any:
        made = arrays.to_native_order(make(frames))
        if called is not None and len(called) != made.ndim:
            raise CodecError("E-PARTS", "an Arrow tensor does not have one name for each dimension")
        return pa.Tensor.from_numpy(made, dim_names=called)

    return build


def _read_schema(node: list[Any], reading: Reading) -> Maker:  # noqa: ARG001 (all readers have the same arguments)
    schema = schema_of(listing(node, 2)[1])
    return lambda _: schema


def _read_buffer(node: list[Any], reading: Reading) -> Maker:
    listing(node, 1)
    place = reading.frame()
    return lambda frames: import_package("pyarrow", EXTRA).py_buffer(buffer(frames[place]))


def adopt(obj: Any) -> Any:
    """Convert a NumPy array or a data frame to Arrow."""
    pa = import_package("pyarrow", EXTRA)
    if hasattr(obj, "ndim") and hasattr(obj, "__array__") and not hasattr(obj, "columns"):
        obj = arrays.to_native_order(obj)  # Arrow tensors do not convert the byte order
        return pa.Tensor.from_numpy(obj) if obj.ndim != 1 else pa.array(obj)
    return pa.table(obj)


READERS = {
    "arrow.array": _read_array,
    "arrow.chunked": _read_chunked,
    "arrow.table": _read_table,
    "arrow.batch": _read_table,
    "arrow.tensor": _read_tensor,
    "arrow.schema": _read_schema,
    "arrow.buffer": _read_buffer,
}


FORM = Form(
    lambda array, _: import_package("pyarrow", EXTRA).Tensor.from_numpy(array),
    lambda tensor: tensor.to_numpy(),
    noun="an Arrow tensor",
)
