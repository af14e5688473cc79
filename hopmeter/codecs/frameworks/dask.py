"""The Dask codec. A Dask task graph is a program, so it is never sent. The sender computes the array, and sends the
resulting chunks."""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Callable
from typing import Any

from hopmeter.codecs import arrays, devices, lookup
from hopmeter.codecs.checks import integer, listing
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refusal

ROOTS = ("dask",)
EXTRA = "dask"
MEGABYTES = (5, 15)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Compute the array, append one frame per chunk to `frames` without a copy, and return the array's header node."""
    da = lookup.import_package("dask.array", EXTRA)
    if not isinstance(obj, da.Array):
        raise refusal(obj, "hopmeter sends only Dask arrays; compute the object first (`it.compute()`)")
    dask = lookup.import_package("dask", EXTRA)
    several = [obj.blocks[at] for at in _block_indices(obj.numblocks)] if obj.ndim else [obj]
    blocks = list(dask.compute(*several))
    chunks = [[int(length) for length in along] for along in _block_lengths(obj, blocks)]
    return f'["dask",{node_of(chunks, frames, depth)},{node_of(blocks, frames, depth)}]'


def _block_indices(numbers: tuple[int, ...]) -> Any:
    return itertools.product(*(range(number) for number in numbers))


def _block_lengths(obj: Any, blocks: list[Any]) -> Any:
    """Yield the lengths of the chunks along each axis. Some chunk lengths are known only after the computation."""
    shapes = dict(zip(_block_indices(obj.numblocks), (block.shape for block in blocks), strict=True))
    for axis, number in enumerate(obj.numblocks):
        first = [0] * len(obj.numblocks)
        yield [shapes[(*first[:axis], place, *first[axis + 1 :])][axis] for place in range(number)]


def _read(node: list[Any], reading: Reading) -> Maker:
    _, chunks, blocks = listing(node, 3)
    lengths, make = reading.maker(chunks), reading.inner(blocks, "dask")
    da = lookup.import_package("dask.array", EXTRA)
    finish = None if reading.as_ in (None, "dask") else reading.as_
    if finish not in (None, "numpy"):
        raise CodecError(
            "E-RECEIVE-AS", f"a Dask array cannot be received as {finish}", "choose numpy, or omit the framework"
        )

    def build(frames: Any) -> Any:
        along = tuple(tuple(integer(length) for length in listing(axis)) for axis in listing(lengths(frames)))
        array = _join_blocks(da, along, listing(make(frames)))
        return array.compute() if finish else array

    return build


def _join_blocks(da: Any, chunks: tuple[tuple[int, ...], ...], blocks: list[Any]) -> Any:
    if math.prod(len(axis) for axis in chunks) != len(blocks) or not blocks:
        raise CodecError("E-PARTS", "the chunks of a Dask array differ from its description")
    told = zip(blocks, itertools.product(*chunks), strict=True)
    if any(block.shape != shape or block.dtype != blocks[0].dtype for block, shape in told):
        raise CodecError("E-PARTS", "the shape of a Dask chunk differs from its description")
    name = f"hopmeter-{uuid.uuid4().hex}"
    graph = {(name, *at): block for at, block in zip(_block_indices(tuple(map(len, chunks))), blocks, strict=True)}
    return da.Array(graph, name, chunks, meta=blocks[0][tuple(slice(0, 0) for _ in chunks)])


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that builds a one-chunk Dask array over a NumPy array's memory. Dask's own `from_array` copies
    the memory."""
    devices.refuse_gpu("Dask", wanted.device)
    da = lookup.import_package("dask.array", EXTRA)
    return lambda array: _join_blocks(da, tuple((length,) for length in array.shape), [array])


READERS = {"dask": _read}


FORM = Form(
    lambda array, _: lookup.import_package("dask.array", EXTRA).from_array(array, chunks=-1),
    lambda array: array.compute(),
    noun="a Dask array",
)
