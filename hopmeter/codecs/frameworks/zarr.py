"""Zarr: arrays. Their chunks are read out (decompressed, a copy) and become an array in memory at the receiver."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs import lookup
from hopmeter.codecs.checks import integer, listing
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refused

ROOTS = ("zarr",)
EXTRA = "zarr"
MEGABYTES = (10, 45)
MOST_CHUNKS = 2**20


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Data, chunks and attributes; how it was compressed and where it was stored stays behind."""
    zarr = lookup.required("zarr", EXTRA)
    if not isinstance(obj, zarr.Array):
        raise refused(obj, "send the arrays of a group: `dict(group.arrays())`")
    more = node_of([list(obj.chunks), dict(obj.attrs)], frames, depth)
    return f'["zarr",{more},{node_of(obj[...], frames, depth)}]'


def _read(node: list[Any], reading: Reading) -> Maker:
    _, more, data = listing(node, 3)
    about, make = reading.maker(more), reading.maker(data)
    if reading.as_ not in (None, "zarr"):
        return make

    def made(frames: Any) -> Any:
        chunks, attributes = about(frames)
        return _array(make(frames), tuple(integer(length) for length in listing(chunks)), attributes)

    return made


def _array(data: Any, chunks: tuple[int, ...], attributes: Any) -> Any:
    pieces = 1
    for length, chunk in zip(data.shape, chunks, strict=True):
        pieces *= -(-length // max(chunk, 1))
    if pieces > MOST_CHUNKS or any(
        chunk > max(length, 1) * 2 for length, chunk in zip(data.shape, chunks, strict=True)
    ):
        raise CodecError(f"an array of Zarr's in chunks of {chunks}")
    zarr = lookup.required("zarr", EXTRA)
    array = zarr.create_array({}, shape=data.shape, dtype=data.dtype, chunks=chunks, attributes=attributes)
    array[...] = data
    return array


READERS = {"zarr": _read}


FORM = Form(lambda array, _: lookup.required("zarr", EXTRA).array(array), lambda array: array[...])
