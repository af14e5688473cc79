"""Collects an Arrow array's buffers, and trims fixed-width buffers to the array's slice."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs import arrays
from hopmeter.codecs.arrow.types import has_views
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.writing import Frames

_bits: dict[int, tuple[int, ...]] = {}
"""A cache of the results of `_widths`, by type id, for types that are not in `_flat`."""
_flat: set[int] = set()
"""The ids of fixed-width types that have neither children nor a dictionary."""


def parts(pa: Any, array: Any, frames: Frames, before: int = 0) -> str:
    """Append the buffers of an Arrow array to the frames, and return the array's header node `[length, offset, buffers,
    children, dictionary]`.

    `buffers` has 1 for a present buffer and 0 for an omitted buffer. `before` is the number of additional values that
    the parent array needs before the slice.
    """
    of = array.type
    if of.id in _flat:
        return _fixed_width_node(array, frames, before)
    if isinstance(of, pa.BaseExtensionType):
        return parts(pa, array.storage, frames, before)
    if pa.types.is_dictionary(of):
        words = parts(pa, array.dictionary, frames)
        return _fixed_width_node(array.indices, frames, before, words)
    if pa.types.is_primitive(of) or pa.types.is_decimal(of) or pa.types.is_fixed_size_binary(of):
        _flat.add(of.id)
        return _fixed_width_node(array, frames, before)
    return _nested_node(pa, array, frames, before)


def _fixed_width_node(array: Any, frames: Frames, before: int, words: str = "null") -> str:
    """Append the buffers of an array of fixed-width values, trimmed to the slice, and return the array's header
    node."""
    own, width, length = array.buffers(), array.type.bit_width, len(array)
    # The common case: the array is not a slice, and no value is missing.
    if length and width and own[0] is None and not array.offset and own[1].size * 8 == length * width:
        frames.append(memoryview(own[1]).cast("B"))
        return f"[{length},0,[0,1],[],{words}]"
    spare, *cuts = extent(array, before, (1, width), own[0] is None)
    frames.extend([memory_of(one)[cut] for one, cut in zip(own, cuts, strict=True) if one is not None])
    return f"[{before + len(array)},{spare},{_presence(own)},[],{words}]"


def extent(array: Any, before: int, widths: tuple[int, ...], all_there: bool) -> tuple[Any, ...]:
    """Return the number of extra values before the slice, and the byte range of each buffer.

    Extra values may be needed because a bitmap can be split only at byte boundaries.
    """
    start, end = array.offset - before, array.offset + len(array)
    spare = start % 8 if 1 in widths[all_there:] else 0
    first = start - spare
    return spare, *(slice(first * width // 8, (end * width + 7) // 8) for width in widths)


def _nested_node(pa: Any, array: Any, frames: Frames, before: int) -> str:
    of, own = array.type, array.buffers()
    own = own[: of.num_buffers] if of.num_fields else own
    if of.id not in _bits:
        _bits[of.id] = _widths(pa, of)
    if widths := _bits[of.id]:
        spare, *cuts = extent(array, before, widths, own[0] is None)
    else:
        spare, cuts = array.offset - before, []
    below = _children(pa, array, before, spare) if of.num_fields else []
    children = [parts(pa, child, frames, ahead) for child, ahead in below]
    cuts += [slice(None)] * (len(own) - len(cuts))
    frames.extend([memory_of(one)[cut] for one, cut in zip(own, cuts, strict=True) if one is not None])
    return f"[{before + len(array)},{spare},{_presence(own)},[{','.join(children)}],null]"


def _presence(buffers: list[Any]) -> str:
    return "[" + ",".join("0" if one is None else "1" for one in buffers) + "]"


def _widths(pa: Any, of: Any) -> tuple[int, ...]:
    """Return the bits per value of each buffer that can be trimmed to a slice.

    Text and list buffers cannot be trimmed, because their offsets are relative to the first value.
    """
    if pa.types.is_struct(of) or pa.types.is_fixed_size_list(of):
        return (1,)
    if pa.types.is_union(of):
        return (0, 8) if of.mode == "sparse" else (0, 8, 32)
    return (1, 128) if has_views(pa, of) else ()


def _children(pa: Any, array: Any, before: int, spare: int) -> list[tuple[Any, int]]:
    """Return each child array, and the number of additional values that are needed before the child's slice.

    A struct's children are trimmed to the slice; a list's children are complete.
    """
    of, types = array.type, pa.types
    if types.is_struct(of) or types.is_union(of):
        ahead = 0 if types.is_union(of) and of.mode == "dense" else before + spare
        return [(array.field(number), ahead) for number in range(of.num_fields)]
    if types.is_fixed_size_list(of):
        ahead, size = before + spare, of.list_size
        return [(array.values.slice((array.offset - ahead) * size, (len(array) + ahead) * size), 0)]
    if types.is_map(of):
        return [(pa.StructArray.from_arrays([array.keys, array.items], fields=[of.key_field, of.item_field]), 0)]
    if types.is_list(of) or types.is_large_list(of):
        return [(array.values, 0)]
    raise CodecError("E-ARROW-TYPE", f"Arrow {of} arrays cannot be represented", "cast the column to another type")


def memory_of(one: Any) -> memoryview:
    """Return an Arrow buffer as a frame."""
    return memoryview(one).cast("B") if one.size else arrays.EMPTY
