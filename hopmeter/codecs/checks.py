"""Validates header nodes before hopmeter builds objects from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError

SALTED = (str, bytes)
MOST_KEYS = 2**16
ALIKE = 64
"""The maximum number of keys of one dict or set with the same hash."""


def listing(node: Any, length: int | None = None) -> list[Any]:
    """Return the header node if it is a list and, if `length` is given, has this length; otherwise, raise
    CodecError."""
    if type(node) is not list or (length is not None and len(node) != length):
        raise CodecError("E-HEADER", "a node of the header does not have the form of its kind")
    return node


def integer(node: Any) -> int:
    """Return the header node if it is an integer from 0 to 2^63 - 1; otherwise, raise CodecError."""
    if type(node) is not int or not 0 <= node < 2**63:
        raise CodecError("E-HEADER", "a length or an offset in the header is not a whole number")
    return node


def text(node: Any) -> str:
    """Return the header node if it is a string; otherwise, raise CodecError."""
    if type(node) is not str:
        raise CodecError("E-HEADER", "a name in the header is not a string")
    return node


def one_of(node: Any, *known: Any) -> Any:
    """Return the header node if it equals one of the known values; otherwise, raise CodecError."""
    if not any(node == value and type(node) is type(value) for value in known):
        raise CodecError(
            "E-VERSIONS-DIFFER", "the header contains an unknown word", "use the same version of hopmeter on both sides"
        )
    return node


def keys(found: list[Any]) -> list[Any]:
    """Return the keys of a dict or the members of a set. Raises CodecError if too many keys have the same hash.

    Python randomizes only the hashes of strings and bytes, so a sender can choose keys of other types that have the
    same hash. The number of keys with the same hash is limited, because inserting many of them takes quadratic time.
    """
    if len(found) <= ALIKE:
        return found
    hashes = np.array([hash(key) for key in found if type(key) not in SALTED], np.int64)
    if len(hashes) > MOST_KEYS:
        raise CodecError(
            "E-KEYS", f"{len(hashes)} keys are neither text nor bytes, which is too many", "send the keys as an array"
        )
    hashes.sort()
    if (hashes[ALIKE:] == hashes[:-ALIKE]).any():
        raise CodecError("E-KEYS-COLLIDE", "too many keys of a dict or a set have the same hash")
    return found


def mapping(makers: Sequence[tuple[Callable[[Any], Any], Callable[[Any], Any]]]) -> Callable[[Any], dict[Any, Any]]:
    """Return a function that builds a dict from frames. Small dicts are not checked for hash collisions."""
    if len(makers) <= ALIKE:
        return lambda frames: {key(frames): value(frames) for key, value in makers}

    def make_dict(frames: Any) -> dict[Any, Any]:
        found = keys([key(frames) for key, _ in makers])
        return dict(zip(found, [value(frames) for _, value in makers], strict=True))

    return make_dict


def buffer(data: Any) -> memoryview:
    """Return a frame as a one-dimensional view of bytes, without copying it."""
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")
