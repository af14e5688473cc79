"""Converts NumPy dtypes to JSON and back. Received text is validated before NumPy parses it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hopmeter.codecs.checks import integer, listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.header import has_pairs
from hopmeter.codecs.lookup import import_package

Type = np.dtype[Any]
SIMPLE = re.compile(r"[<>|][biufcmMSUV]\d{1,10}(\[\d{0,10}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")
SMALL_FLOATS = re.compile(r"bfloat16|u?int[124]|float[4-8]_e\dm\d(fn|fnu|b11|fnuz|b11fnuz)?")
"""Matches dtypes from the package ml_dtypes, which JAX and TensorFlow use."""


STRUCTURES: dict[str, type[np.void]] = {"struct": np.void, "record": np.record}


def to_node(dtype: Type) -> Any:
    """Return a string for a simple dtype, or `["struct", itemsize, fields]` for a structured dtype.

    Raises CodecError if a header node cannot represent all properties of the dtype.
    """
    if dtype.hasobject:
        raise CodecError(
            "E-PYTHON-OBJECTS",
            f"an array of dtype {dtype} contains references to Python objects, not data",
            "convert the array (`array.astype(float)`, `array.tolist()`), or choose a pickle codec by name",
        )
    if dtype.metadata:
        raise CodecError(
            "E-DTYPE",
            f"the metadata of dtype {dtype} would be lost: {str(dict(dtype.metadata))[:80]}",
            "send `array.view(array.dtype.str)`, and the metadata as a dict",
        )
    if dtype.names is not None:
        return _structure(dtype, dtype.names)
    if dtype.type.__module__ == "ml_dtypes" and dtype.isnative:
        return dtype.name
    if not SIMPLE.fullmatch(dtype.str) or dtype.subdtype or np.dtype(dtype.str) != dtype:
        raise CodecError("E-DTYPE", f"arrays of dtype {dtype} cannot be represented", "convert it with `array.astype`")
    return dtype.str


def _structure(dtype: Type, names: tuple[str, ...]) -> Any:
    tag = next((tag for tag, kind in STRUCTURES.items() if kind is dtype.type), None)
    if tag is None:
        raise CodecError(
            "E-DTYPE", f"structures of type {dtype.type.__qualname__} cannot be represented", "use a plain structure"
        )
    aligned = ["aligned"] if dtype.isalignedstruct else []
    return [tag, dtype.itemsize, [_field(dtype, name) for name in names], *aligned]


def _field(dtype: Type, name: str) -> list[Any]:
    assert dtype.fields is not None
    of, offset, *title = dtype.fields[name]
    base, shape = of.subdtype or (of, ())
    if of.metadata or not all(type(one) is str and not has_pairs(one) for one in (name, *title)):
        raise CodecError(
            "E-DTYPE", f"the metadata, name or title of the field {name!a} would be lost", "use plain text, no metadata"
        )
    return [name, to_node(base), int(offset), [int(length) for length in shape], *title]


def cache_key(dtype: Type) -> Any:
    """Return a cache key for a dtype.

    NumPy ignores metadata and alignment when it compares dtypes, so the key of a dtype that may have either is the
    dtype's object id. The cache entry must keep a dtype alive if the key is the dtype's object id.
    """
    return dtype if dtype.names is None and dtype.metadata is None else id(dtype)


def from_node(node: Any, depth: int = 0) -> Type:
    """Return the dtype that a header node describes. Raises CodecError for any node that `to_node` never writes."""
    if isinstance(node, str):
        return _plain_dtype(node)
    tag, itemsize, fields, *aligned = listing(node, None if len(listing(node)) == 4 else 3)
    if type(tag) is not str or tag not in STRUCTURES or depth > 16 or aligned not in ([], ["aligned"]):
        raise CodecError("E-HEADER", "the header contains an invalid dtype")
    made = _struct(integer(itemsize), [_parts(field) for field in listing(fields)], depth, bool(aligned))
    return made if tag == "struct" else np.dtype((STRUCTURES[tag], made))


def _parts(field: Any) -> list[Any]:
    """Return the name, dtype, offset, shape and title of a field from its header node. The title is None if the field
    has no title."""
    return [*field, None] if len(listing(field)) == 4 else listing(field, 5)


def raw_dtype(node: Any) -> Type | None:
    """Return an integer dtype that has the same width as a dtype that NumPy lacks, such as bfloat16. Return None for
    dtypes that NumPy supports."""
    if not isinstance(node, str) or not SMALL_FLOATS.fullmatch(node):
        return None
    return np.dtype("<i2" if node == "bfloat16" else "u1")


def _plain_dtype(name: str) -> Type:
    if SMALL_FLOATS.fullmatch(name):
        small: Type = np.dtype(getattr(import_package("ml_dtypes", "jax"), name))
        return small
    if not SIMPLE.fullmatch(name):
        raise CodecError("E-HEADER", f"the header contains an invalid dtype: {name[:40]!r}")
    dtype = np.dtype(name)
    if dtype.str != name:
        raise CodecError("E-HEADER", f"the header contains an invalid dtype: {name!r}")
    return dtype


def _struct(itemsize: int, fields: list[list[Any]], depth: int, aligned: bool) -> Type:
    formats = [(from_node(of, depth + 1), tuple(integer(n) for n in listing(shape))) for _, of, _, shape, _ in fields]
    layout: Any = {
        "names": [text(name) for name, *_ in fields],
        "formats": [np.dtype((base, shape)) if shape else base for base, shape in formats],
        "offsets": [integer(offset) for _, _, offset, *_ in fields],
        "itemsize": itemsize,
    }
    if any(title is not None for *_, title in fields):
        layout["titles"] = [None if title is None else text(title) for *_, title in fields]
    made: Type = np.dtype(layout, align=aligned)
    return made


def code_points(dtype: Type) -> tuple[Type, list[tuple[str, ...]]]:
    """Return a copy of the dtype in which integers replace text, and the paths of all text fields. The list of paths is
    empty if the dtype has no text."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        of, paths = code_points(base)
        return np.dtype((of, shape)), paths
    if dtype.kind == "U":
        return np.dtype((f"{dtype.byteorder}u4", (dtype.itemsize // 4,))), [()]
    if dtype.names is None or dtype.fields is None:
        return dtype, []
    within = {name: code_points(dtype.fields[name][0]) for name in dtype.names}
    if sum(of.itemsize for of, paths in within.values() if paths) > dtype.itemsize:
        raise CodecError("E-FIELDS-OVERLAP", "text fields overlap", "send the fields as separate arrays")
    layout: Any = {
        "names": list(within),
        "formats": [of for of, _ in within.values()],
        "offsets": [dtype.fields[name][1] for name in within],
        "itemsize": dtype.itemsize,
    }
    return np.dtype(layout), [(name, *path) for name, (_, paths) in within.items() for path in paths]
