"""Classifies Arrow types: types that are rejected, and types with rows that occupy no bytes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from hopmeter.codecs.arrow.messages import check_schema
from hopmeter.codecs.checks import text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package

EXTRA = "pyarrow"
POINTERS = b"POLARS_EXTENSION_TYPE"
"""The extension name of columns that Polars would interpret as addresses of Python objects."""


def schema_of(node: Any) -> Any:
    """Return the schema in an IPC message.

    Raises CodecError if the message is invalid or too expensive to read, or if a column holds Python objects.
    """
    pa = import_package("pyarrow", EXTRA)
    try:
        message = base64.b64decode(text(node), validate=True)
        check_schema(message)
        schema = pa.ipc.read_schema(pa.py_buffer(message))
    except (ValueError, OSError) as cause:
        raise CodecError("E-ARROW-MESSAGE", "this is not an Arrow schema") from cause
    for field in fields(schema):
        if (field.metadata or {}).get(b"ARROW:extension:name") == POINTERS:
            raise CodecError("E-PYTHON-OBJECTS", "a column of Python objects cannot be represented")
    return schema


def fields(found: Any) -> Iterator[Any]:
    """Yield all fields of a schema or of a list of fields, including nested fields."""
    pa = import_package("pyarrow", EXTRA)
    extension, is_dictionary = pa.BaseExtensionType, pa.types.is_dictionary
    for field in found:
        yield field
        of = field.type
        if isinstance(of, extension):
            of = of.storage_type
        if is_dictionary(of):
            yield from fields([pa.field("", of.value_type)])
        elif of.num_fields:
            yield from fields([of.field(number) for number in range(of.num_fields)])


def storage_type(pa: Any, of: Any) -> Any:
    """Return an extension type's storage type, or any other type unchanged."""
    return of.storage_type if isinstance(of, pa.BaseExtensionType) else of


def has_bytes(pa: Any, of: Any) -> bool:
    """Return whether each row occupies at least one bit, so that buffer sizes limit the number of rows."""
    of, types = storage_type(pa, of), pa.types
    if types.is_fixed_size_binary(of):
        return bool(of.byte_width)
    if types.is_fixed_size_list(of):
        return bool(of.list_size) and has_bytes(pa, of.value_type)
    if types.is_struct(of):
        return any(has_bytes(pa, of.field(number).type) for number in range(of.num_fields))
    return not types.is_null(of)


def has_views(pa: Any, of: Any) -> bool:
    """Return whether the type is a view type, which may have any number of text buffers."""
    return bool(pa.types.is_string_view(of) or pa.types.is_binary_view(of))


def nested_arrays(pa: Any, array: Any) -> Iterator[Any]:
    """Yield an array and all arrays nested in it.

    Chunked, extension and dictionary arrays are replaced with the arrays that they contain.
    """
    if isinstance(array, pa.ChunkedArray):
        under = array.chunks
    elif isinstance(array, pa.ExtensionArray):
        under = [array.storage]
    elif isinstance(array, pa.DictionaryArray):
        under = [array.dictionary]
    else:
        yield array
        under = _children(pa, array)
    for one in under:
        yield from nested_arrays(pa, one)


def _children(pa: Any, array: Any) -> list[Any]:
    if isinstance(array, pa.StructArray | pa.UnionArray):
        return [array.field(number) for number in range(array.type.num_fields)]
    if isinstance(array, pa.MapArray):
        return [array.keys, array.items]
    return [array.values] if array.type.num_fields else []
