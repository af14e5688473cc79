"""Builds Arrow arrays over the frames' memory, as the header describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.arrow import layout as layout
from hopmeter.codecs.arrow.types import EXTRA, has_bytes, has_views
from hopmeter.codecs.arrow.views import check_views
from hopmeter.codecs.checks import listing
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.reading import Maker, Reading

DEPTH = 32


def array_maker(node: Any, of: Any, reading: Reading, depth: int = 0) -> Maker:
    """Return a function that builds an array of type `of` from its buffers.

    The returned function checks only that each buffer is large enough for the type. Arrow's `validate(full=True)`
    checks the values.
    """
    pa = import_package("pyarrow", EXTRA)
    if depth > DEPTH:
        raise CodecError("E-NESTED", "the Arrow types are nested too deeply")
    if isinstance(of, pa.BaseExtensionType):
        inner = array_maker(node, of.storage_type, reading, depth + 1)
        return lambda frames: of.wrap_array(inner(frames))
    if pa.types.is_dictionary(of):
        return _dictionary(pa, node, of, reading, depth)
    if listing(node, 5)[4] is not None:
        raise CodecError("E-ARROW-DICTIONARY", f"an Arrow {of} array must not have a dictionary")
    return _plain_array_maker(pa, node, of, reading, depth)


def _dictionary(pa: Any, node: Any, of: Any, reading: Reading, depth: int) -> Maker:
    words = array_maker(listing(node, 5)[4], of.value_type, reading, depth + 1)
    indices = array_maker([*node[:4], None], of.index_type, reading, depth + 1)

    def make(frames: Sequence[Any]) -> Any:
        array, found = indices(frames), words(frames)
        array.validate(full=True)
        made = pa.DictionaryArray.from_arrays(array, found, ordered=of.ordered)
        whole = _indices_below(pa, array, len(found)) if array.null_count else array
        return made if whole is array else pa.DictionaryArray.from_arrays(whole, found, ordered=of.ordered)

    return make


def _indices_below(pa: Any, array: Any, count: int) -> Any:
    """Return the indices, replacing each index that is out of range with 0. Arrow reads every index when it joins
    dictionaries.

    An invalid index is not an error, because pandas writes -1 for a missing value.
    """
    marks, memory = array.buffers()
    found = np.frombuffer(memory, array.type.to_pandas_dtype(), array.offset + len(array))
    outside = (found < 0) | (found >= count)
    if not outside.any():
        return array
    kept = pa.py_buffer(np.where(outside, found.dtype.type(0), found))
    return pa.Array.from_buffers(array.type, len(array), [marks, kept], -1, array.offset)


def _plain_array_maker(pa: Any, node: list[Any], of: Any, reading: Reading, depth: int) -> Maker:
    layout.check_type(pa, of)
    length, offset = layout.extent(node, of, pa)
    reading.free += 0 if has_bytes(pa, of) else length + offset
    under = [of.field(number).type for number in range(of.num_fields)]
    if len(under) != len(listing(node[3])):
        raise CodecError("E-ARROW-CHILDREN", "the children of an Arrow array do not match its type")
    layout.check_children(pa, of, length + offset, node[3])
    below = [array_maker(child, kind, reading, depth + 1) for child, kind in zip(node[3], under, strict=True)]
    if pa.types.is_map(of):
        below = [_require_keys(below[0])]
    buffers = _buffers(pa, of, length + offset, node[2], reading)
    return _from_buffers(pa, of, (length, offset), buffers, below)


def _require_keys(entries: Maker) -> Maker:
    """Return a function that builds a map's entries.

    The returned function raises CodecError if a key is missing, because Arrow would abort the process.
    """

    def make(frames: Sequence[Any]) -> Any:
        array = entries(frames)
        if array.null_count or array.field(0).null_count:
            raise CodecError("E-ARROW-CHILDREN", "an Arrow map lacks some of its keys")
        return array

    return make


def _from_buffers(pa: Any, of: Any, extent: tuple[int, int], buffers: Maker, below: list[Maker]) -> Maker:
    (length, offset), load = extent, pa.Array.from_buffers
    if not below:
        return lambda frames: load(of, length, buffers(frames), -1, offset)
    return lambda frames: load(of, length, buffers(frames), -1, offset, [one(frames) for one in below])


def _buffers(pa: Any, of: Any, end: int, present: Any, reading: Reading) -> Maker:
    """Return a function that collects an array's buffers from the frames.

    The returned function raises CodecError if a buffer is too small for `end` values.
    """
    found, needed = layout.buffer_presence(present, pa, of), layout.least_sizes(pa, of, end)
    places = [reading.frame() if one else None for one in found]
    if any(need and place is None for need, place in zip(needed[1:], places[1:], strict=False)):
        raise CodecError("E-ARROW-BUFFERS", f"an Arrow {of} array lacks the buffer of its values")
    if len(places) == 2 and places[0] is None and places[1] is not None and end:
        return _values_maker(pa.py_buffer, places[1], needed[1])
    if not end and layout.offset_bytes(pa, of):
        places[1] = None
    make = _buffer_list_maker(pa, list(zip(places, _stand_ins(pa, len(places)), strict=True)), needed)
    return _buffers_with_views(make, end) if has_views(pa, of) else make


def _stand_ins(pa: Any, count: int) -> list[Any]:
    """Return substitutes for omitted buffers.

    An omitted validity bitmap means that no value is missing. Omitted offsets are replaced with a first offset of 0,
    which Arrow always reads.
    """
    return [None, *[pa.py_buffer(bytes(8))] * (count - 1)]


def _values_maker(wrap: Any, place: int, need: int) -> Maker:
    def make(frames: Sequence[Any]) -> Any:
        values = wrap(frames[place])
        if values.size < need:
            raise _size_error(values.size, need)
        return [None, values]

    return make


def _buffer_list_maker(pa: Any, places: list[tuple[int | None, Any]], needed: list[int]) -> Maker:
    wrap, text = pa.py_buffer, [0] * (len(places) - len(needed))  # a view type may have any number of text buffers
    plan = [(*place, need) for place, need in zip(places, needed + text, strict=True)]

    def make(frames: Sequence[Any]) -> Any:
        found = []
        for place, instead, need in plan:
            one = instead if place is None else wrap(frames[place])
            if place is not None and one.size < need:
                raise _size_error(one.size, need)
            found.append(one)
        return found

    return make


def _size_error(size: int, need: int) -> CodecError:
    return CodecError(
        "E-FRAME-LENGTH", f"the frame has {size} bytes, but its Arrow values need {need}", "send complete frames"
    )


def _buffers_with_views(make: Maker, end: int) -> Maker:
    def build(frames: Sequence[Any]) -> Any:
        found = make(frames)
        check_views(found, end)
        return found

    return build
