"""The Zarr codec.

The sender copies an array's data when it reads and decompresses the chunks. The receiver gets a Zarr array in memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices, lookup
from hopmeter.codecs.checks import integer, listing
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refusal

ROOTS = ("zarr",)
EXTRA = "zarr"
MEGABYTES = (10, 45)
MOST_CHUNKS = 2**20
MOST_BYTES = 2**24
"""The maximum size in bytes of a chunk that is larger than its array. The size is limited because Zarr allocates whole
chunks."""


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append an array's data to `frames`, and return the array's header node.

    The header node contains the chunk sizes and attributes, but not the compression or storage location.
    """
    zarr = lookup.import_package("zarr", EXTRA)
    if not isinstance(obj, zarr.Array):
        raise refusal(obj, "send the arrays of a group: `dict(group.arrays())`")
    _refuse(obj.shape, obj.chunks, obj.dtype.itemsize)
    more = node_of([list(obj.chunks), dict(obj.attrs), *_properties(obj)], frames, depth)
    return f'["zarr",{more},{node_of(obj[...], frames, depth)}]'


def _properties(obj: Any) -> list[Any]:
    """Return a list with one dict of the fill value and dimension names, or an empty list if both have default
    values."""
    names, fill = getattr(obj.metadata, "dimension_names", None), obj.fill_value
    usual = fill is None or (type(fill) is str and not fill)
    usual = usual or np.asarray(fill).tobytes() == np.zeros((), obj.dtype).tobytes()
    found: dict[str, Any] = {} if usual else {"fill_value": np.asarray(fill, obj.dtype)[()]}
    found |= {"dimension_names": list(names)} if names is not None and any(names) else {}
    return [found] if found else []


def _checked_properties(found: Any, data: Any) -> dict[str, Any]:
    if type(found) is not dict or not found.keys() <= {"fill_value", "dimension_names"}:
        raise CodecError("E-PARTS", "Zarr properties are invalid")
    names, fill = found.get("dimension_names", [None] * data.ndim), found.get("fill_value")
    right = all(type(name) in (str, type(None)) for name in listing(names, data.ndim))
    if not right or ("fill_value" in found and (not isinstance(fill, np.generic) or fill.dtype != data.dtype)):
        raise CodecError("E-PARTS", "Zarr properties do not fit the array")
    return found


def _read(node: list[Any], reading: Reading) -> Maker:
    _, more, data = listing(node, 3)
    about, make = reading.maker(more), reading.inner(data, "zarr")
    if reading.as_ not in (None, "zarr"):
        return make

    def build(frames: Any) -> Any:
        chunks, attributes, *properties = listing(about(frames))
        along, data = tuple(integer(length) for length in listing(chunks)), make(frames)
        return _array(data, along, attributes, _checked_properties(properties[0], data) if properties else {})

    return build


def _refuse(shape: tuple[int, ...], chunks: tuple[int, ...], itemsize: int) -> None:
    pieces = math.prod(-(-length // max(chunk, 1)) for length, chunk in zip(shape, chunks, strict=True))
    each, all_bytes = math.prod(chunks) * itemsize, math.prod(shape) * itemsize
    if pieces > MOST_CHUNKS or each > max(MOST_BYTES, 4 * all_bytes):
        raise CodecError(
            "E-ARRAY-SHAPE", f"a Zarr array of {shape} cannot have chunks of {chunks}", "send its data: `array[...]`"
        )


def _array(data: Any, chunks: tuple[int, ...], attributes: Any, properties: dict[str, Any]) -> Any:
    _refuse(data.shape, chunks, data.itemsize)
    if type(attributes) is not dict:
        raise CodecError("E-PARTS", "Zarr attributes are not a dict")
    json.dumps(attributes)  # rejects values over which Zarr would iterate, such as a range of any length
    zarr = lookup.import_package("zarr", EXTRA)
    array = zarr.create_array(
        {}, shape=data.shape, dtype=data.dtype, chunks=chunks, attributes=attributes, **properties
    )
    array[...] = data
    return array


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that creates a Zarr array in memory. The returned function copies the data, because Zarr
    compresses it."""
    devices.refuse_gpu("Zarr", wanted.device)
    zarr = lookup.import_package("zarr", EXTRA)
    return lambda array: zarr.array(array)


READERS = {"zarr": _read}


FORM = Form(
    lambda array, _: lookup.import_package("zarr", EXTRA).array(array), lambda array: array[...], noun="a Zarr array"
)
