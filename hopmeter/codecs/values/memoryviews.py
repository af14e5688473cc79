# ruff: noqa: ARG001 (all writers and readers have the same arguments)
"""Encodes memoryviews with their item format and shape."""

from __future__ import annotations

import re
from typing import Any

from hopmeter.codecs.checks import buffer, integer, listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.header import quote
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames

FORMAT = re.compile("@?[bBhHiIlLqQnNfdcP?]")
"""Matches the item formats to which Python can cast bytes."""
MOST_DIMENSIONS = 64


def write(obj: memoryview, frames: Frames, depth: int) -> str:
    """Append the memory of a memoryview to `frames`, or a copy if the memory is not contiguous, and return the header
    node."""
    if obj.format == "B" and obj.ndim == 1:
        frames.append(obj if obj.c_contiguous else memoryview(obj.tobytes()))
        return '["memoryview"]'
    if not FORMAT.fullmatch(obj.format) or (not obj.nbytes and obj.ndim != 1):
        raise CodecError(
            "E-NO-FORM",
            f"a memoryview of format {obj.format!r} and shape {obj.shape} cannot be represented",
            "send `numpy.asarray(it)`",
        )
    frames.append(buffer(obj if obj.c_contiguous and obj.nbytes else memoryview(obj.tobytes())))
    return f'["memoryview",{quote(obj.format)},[{",".join(map(str, obj.shape or ()))}]]'


def read(node: list[Any], reading: Reading) -> Maker:
    """Return a function that builds the memoryview from its frame."""
    place = reading.frame()
    if len(node) == 1:
        return lambda frames: buffer(frames[place])
    _, form, shape = listing(node, 3)
    lengths = [integer(length) for length in listing(shape)]
    if not FORMAT.fullmatch(text(form)) or len(lengths) > MOST_DIMENSIONS:
        raise CodecError("E-HEADER", "the header contains an invalid memoryview")

    if len(lengths) == 1:
        return lambda frames: _check_length(buffer(frames[place]).cast(form), lengths[0])
    return lambda frames: buffer(frames[place]).cast(form, lengths)


def _check_length(view: memoryview, length: int) -> memoryview:
    if len(view) != length:
        raise CodecError("E-FRAME-LENGTH", f"a memoryview has {len(view)} items, but announces {length}")
    return view
