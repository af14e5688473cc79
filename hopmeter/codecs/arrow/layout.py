"""Validates the memory layout that a header declares for an Arrow array.

Arrow does not check the layout completely: an invalid layout can abort the process or make Arrow read out of bounds.
Properties that depend only on the header are checked once per header. The sizes of the buffers are checked for every
message.
"""

from __future__ import annotations

from typing import Any

from hopmeter.codecs.arrow.types import has_views
from hopmeter.codecs.checks import integer, listing, one_of
from hopmeter.codecs.errors import CodecError

MOST_VALUES = 2**62
MOST_SCALE = 76
"""The largest decimal scale. Arrow formats decimals with a larger scale as text that Python cannot parse as a
decimal."""
VIEW_BYTES = 16


def extent(node: list[Any], of: Any, pa: Any) -> tuple[int, int]:
    """Return an array's length and offset. The offset of null arrays and of empty arrays is 0.

    Null arrays and empty arrays need no offset, and Arrow does not validate the offset of an empty array.
    """
    length, offset = integer(node[0]), integer(node[1])
    if length + offset > MOST_VALUES:
        raise CodecError(
            "E-ARROW-BUFFERS", f"an Arrow array of {length} values at offset {offset} is too large", "encode it again"
        )
    return length, 0 if pa.types.is_null(of) or not length else offset


def buffer_presence(node: Any, pa: Any, of: Any) -> list[int]:
    """Return 1 for each buffer that is present, and 0 for each omitted buffer.

    Raises CodecError if a required buffer is missing.
    """
    found = [one_of(one, 0, 1) for one in listing(node)]
    least = of.num_buffers
    if len(found) < least or (len(found) > least and not has_views(pa, of)):
        raise CodecError("E-ARROW-BUFFERS", f"an Arrow {of} array has {len(found)} buffers, but needs {least}")
    if (pa.types.is_null(of) or pa.types.is_union(of)) and found[0]:
        raise CodecError(
            "E-ARROW-BUFFERS", f"an Arrow {of} array must not have a bitmap of missing values", "encode it again"
        )
    if not all(found[2:]) and has_views(pa, of):
        raise CodecError("E-ARROW-VIEWS", f"an Arrow {of} array lacks the text buffers of its views")
    return found


def least_sizes(pa: Any, of: Any, end: int) -> list[int]:
    """Return the minimum size in bytes of each buffer for `end` values.

    The minimum size of a text buffer is 0, because the offsets determine the size of the text.
    """
    types, marks = pa.types, _bytes(end)
    if types.is_union(of):
        return [0, end] if of.mode == "sparse" else [0, end, 4 * end]
    if has_views(pa, of):
        return [marks, VIEW_BYTES * end]
    if width := offset_bytes(pa, of):
        return [marks, (end + 1) * width if end else 0, 0][: of.num_buffers]
    if types.is_fixed_size_binary(of):
        return [marks, of.byte_width * end]
    if of.num_buffers == 1:
        return [marks]
    return [marks, _bytes(of.bit_width * end)]


def offset_bytes(pa: Any, of: Any) -> int:
    """Return the width in bytes of the offsets of a text or list type, or 0 for other types."""
    types = pa.types
    if types.is_large_string(of) or types.is_large_binary(of) or types.is_large_list(of):
        return 8
    narrow = types.is_string(of) or types.is_binary(of) or types.is_list(of) or types.is_map(of)
    return 4 if narrow else 0


def _bytes(bits: int) -> int:
    return (bits + 7) // 8


def check_type(pa: Any, of: Any) -> None:
    """Raise CodecError for a type that `encode` never writes, or that has invalid parameters."""
    types = pa.types
    if of.num_fields and not any(is_one(of) for is_one in _nested_kinds(types)):
        # List views may overlap, and a single run of a run-end encoded array may represent any number of rows.
        raise CodecError("E-ARROW-TYPE", f"Arrow {of} arrays cannot be represented", "cast the column to another type")
    if types.is_decimal(of) and abs(of.scale) > MOST_SCALE:
        raise CodecError(
            "E-ARROW-TYPE", f"Arrow decimals cannot have a scale of {of.scale}", f"use a scale up to {MOST_SCALE}"
        )
    if types.is_union(of) and len(set(of.type_codes)) != of.num_fields:
        raise CodecError("E-ARROW-UNION", "two types of an Arrow union have the same code")


def _nested_kinds(types: Any) -> tuple[Any, ...]:
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return (types.is_struct, types.is_union, types.is_map, *lists)


def check_children(pa: Any, of: Any, end: int, children: list[Any]) -> None:
    """Raise CodecError if a child array has too few values for the first `end` values of its parent.

    The function does not check children of lists, because the offsets of a list are in the frames.
    """
    types, each = pa.types, 0
    if types.is_struct(of) or (types.is_union(of) and of.mode == "sparse"):
        each = 1
    elif types.is_fixed_size_list(of):
        each = of.list_size
    short = [child for child in children if integer(listing(child, 5)[0]) < end * each]
    if short or each < 0:
        raise CodecError(
            "E-ARROW-CHILDREN", f"a child of an Arrow {of} has {short[0][0] if short else 0} values for {end} rows"
        )
    if types.is_map(of) and any(listing(child[2])[:1] != [0] for child in children):
        raise CodecError("E-ARROW-CHILDREN", "entries of an Arrow map must not be nullable")
