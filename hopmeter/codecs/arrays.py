"""Writes and reads in-memory arrays of any framework.

An array becomes one frame and the header node `["array", framework, dtype, shape, order, extra]`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from hopmeter.codecs import devices, dtypes
from hopmeter.codecs.checks import integer, listing, one_of, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import codec_named
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import KEPT, Frames

Array = np.ndarray[Any, Any]
EMPTY = memoryview(b"")
MAX_DIMENSIONS = 64
BYTES_ALIGNED = 64
"""The alignment in bytes that JAX needs to share memory. Vector instructions also benefit from aligned memory."""

_kept: dict[Any, tuple[str, Callable[[Any], memoryview], np.dtype[Any]]] = {}


def write(array: Array, frames: Frames, framework: str = "numpy", extra: Any = None, dtype: str | None = None) -> str:
    """Append the array's memory to `frames`, and return its header node. An array that is not contiguous is copied.

    `extra` contains further properties of the array that the framework needs. `dtype` is the dtype's name if NumPy
    lacks the dtype.
    """
    flags = array.flags
    if flags.c_contiguous:
        order = "C"
    elif flags.f_contiguous:
        order = "F"
    else:
        array, order = np.ascontiguousarray(array), "C"
    of = array.dtype
    key = (dtypes.cache_key(of), array.shape, order, framework, extra, dtype)
    node, memory, _ = _kept.get(key) or _new_array_node(key, array)
    frames.append(memory(array if order == "C" else array.T))
    return node


def array_node(array: Array, framework: str, extra: Any, dtype: str | None) -> str:
    """Return the header node of a contiguous array, without appending a frame."""
    order = "C" if array.flags.c_contiguous else "F"
    return _new_array_node((dtypes.cache_key(array.dtype), array.shape, order, framework, extra, dtype), array)[0]


def _new_array_node(key: Any, array: Array) -> tuple[str, Callable[[Any], memoryview], np.dtype[Any]]:
    _, shape, order, framework, extra, dtype = key
    of = array.dtype
    node = ["array", framework, dtype or dtypes.to_node(of), list(shape), order, extra]
    written = json.dumps(node, separators=(",", ":"))
    if len(_kept) >= KEPT:
        _kept.clear()
    return _kept.setdefault(key, (written, _memory_of(of, array.size and of.itemsize), of))


def _memory_of(dtype: np.dtype[Any], has_bytes: int) -> Callable[[Any], memoryview]:
    if not has_bytes:
        return lambda _: EMPTY
    if is_castable(dtype):
        return lambda array: memoryview(array).cast("B")
    return lambda array: memoryview(array.reshape(-1).view(np.uint8))


def is_castable(dtype: np.dtype[Any]) -> bool:
    """Return whether a memoryview of an array with this dtype can be cast to bytes. Casting is three times as fast as
    creating a NumPy view of the bytes."""
    return dtype.isnative and dtype.kind in "biuf" and dtype.char != "g" and dtype.type.__module__ == "numpy"


def read(node: list[Any], reading: Reading) -> Maker:
    """Return a function that builds the array from the frames, in the requested framework or, by default, in the
    sender's framework."""
    _, framework, dtype, shape, order, extra = listing(node, 6)
    name = text(framework) if reading.as_ is None else reading.as_
    codec = None if name == "numpy" else codec_named(name)
    raw = dtypes.raw_dtype(dtype) if hasattr(codec, "RAW") else None
    of = dtypes.from_node(dtype) if raw is None else raw
    make = _numpy(of, _shape(shape), one_of(order, "C", "F"), reading.frame())
    if codec is None:
        devices.refuse_gpu("NumPy", reading.device)
        return make
    more = extra if name == framework else None
    convert = _converter(codec, Wanted(dtype if raw is not None else "", reading.device, more))
    return lambda frames: convert(make(frames))


def array_maker_as_sent(node: list[Any], place: int) -> Maker:
    """Return a function that builds a NumPy array from the frame at `place`.

    If NumPy lacks the dtype, the returned function builds an array of integers from the raw bytes.
    """
    _, _, dtype, shape, order, _ = listing(node, 6)
    of = dtypes.raw_dtype(dtype)
    return _numpy(dtypes.from_node(dtype) if of is None else of, _shape(shape), one_of(order, "C", "F"), place)


@dataclass(frozen=True)
class Wanted:
    """The tensor properties that the receiver requested."""

    raw: str
    """The dtype's name if NumPy lacks the dtype, otherwise an empty string. Only codecs that define `RAW` get such a
    name."""
    device: str | None
    """The device that the receiver requests. None stands for the device in `extra`."""
    extra: Any
    """The untrusted properties that the sender's framework wrote. The value is None if a different framework wrote the
    array."""


def converter(reading: Reading) -> Callable[[Any], Any]:
    """Return a function that converts a NumPy array to the requested framework."""
    if reading.as_ in (None, "numpy"):
        devices.refuse_gpu("NumPy", reading.device)
        return lambda array: array
    return _converter(codec_named(reading.as_ or ""), Wanted("", reading.device, None))


def _converter(codec: ModuleType, wanted: Wanted) -> Callable[[Array], Any]:
    name = codec.__name__.rpartition(".")[2]
    if hasattr(codec, "from_array"):
        made: Callable[[Array], Any] = codec.from_array(wanted)
        return made
    if hasattr(codec, "adopt"):
        devices.refuse_gpu(name, wanted.device)
        adopted: Callable[[Any], Any] = codec.adopt
        return adopted
    raise CodecError(
        "E-RECEIVE-AS",
        f"an array cannot be received as {name}",
        "choose a framework with arrays, or none",
    )


def _shape(node: Any) -> tuple[int, ...]:
    shape = tuple(integer(length) for length in listing(node))
    if len(shape) > MAX_DIMENSIONS:
        raise CodecError("E-ARRAY-SHAPE", f"the array has {len(shape)} dimensions; the maximum is {MAX_DIMENSIONS}")
    return shape


def _numpy(dtype: np.dtype[Any], shape: tuple[int, ...], order: Any, place: int) -> Maker:
    size = math.prod(shape) * dtype.itemsize
    if not size:
        return _empty_array_maker(dtype, shape, place)
    new = np.ndarray

    def rows(frames: Any) -> Array:
        data = frames[place]
        if len(data) != size:
            _check_size(data, size)
        return new(shape, dtype, data)

    def columns(frames: Any) -> Array:
        _check_size(frames[place], size)
        return new(shape, dtype, frames[place], 0, None, "F")

    make = rows if order == "C" else columns
    of, paths = dtypes.code_points(dtype)
    return (lambda frames: _valid_text(make(frames), of, paths)) if paths else make


def valid_text(array: Array) -> Array:
    """Return the array unchanged. Raises CodecError for text with an invalid code point, on which NumPy would raise
    SystemError."""
    return _valid_text(array, *dtypes.code_points(array.dtype))


def _valid_text(array: Array, of: np.dtype[Any], paths: list[tuple[str, ...]]) -> Array:
    for path in paths:
        points = array.view(of)
        for name in path:
            points = points[name]
        if points.size and points.max() > sys.maxunicode:
            raise CodecError(
                "E-TEXT", f"the NumPy text contains the invalid character {points.max():#x}", "Unicode ends at 0x10ffff"
            )
    return array


def _check_size(data: Any, size: int) -> None:
    if memoryview(data).nbytes != size:
        raise CodecError("E-FRAME-LENGTH", f"the frame has {memoryview(data).nbytes} bytes, but the array needs {size}")


def _empty_array_maker(dtype: np.dtype[Any], shape: tuple[int, ...], place: int) -> Maker:
    if math.prod(shape) and len(shape) and math.prod(shape) > 2**20:
        raise CodecError("E-ARRAY-SHAPE", "the array has elements of 0 bytes and is too long")

    def make(frames: Any) -> Array:
        _check_size(frames[place], 0)
        return np.empty(shape, dtype)

    return make


class _Lent:
    """Lets NumPy import a DLPack capsule."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_capsule(capsule: Any) -> Array:
    """Return a NumPy array over the host memory of a DLPack capsule of any version."""
    array: Array = np.from_dlpack(_Lent(capsule))
    return array


def fastest_loader(direct: Callable[[], Callable[[Array], Any]], public: Any, properties: Callable[[Any], Any]) -> Any:
    """Return the function that `direct()` returns if this function produces the same tensor as `public`; otherwise,
    return `public`. Both functions create a tensor over an array's memory.

    A framework's internal function may be several times as fast as its public function, but may change in any release.
    `properties` returns the properties that are compared, such as the tensor's address, dtype, device and values.
    """
    tried = aligned_copy(np.arange(4, dtype="f4"))
    try:
        way = direct()
        if properties(way(tried)) == properties(public(tried)):
            return way
    except Exception:  # noqa: BLE001 (a missing or changed function may fail in any way)
        return public
    return public


def to_native_order(array: Array) -> Array:
    """Return the array in this machine's byte order, which tensors need. An array in the opposite byte order is
    copied."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def to_writable(array: Array) -> Array:
    """Return the array, or a writable copy if it is read-only."""
    return array if array.flags.writeable else aligned_copy(array)


def aligned_copy(array: Array) -> Array:
    """Return a copy that is aligned to 64 bytes."""
    room = np.empty(array.nbytes + BYTES_ALIGNED, np.uint8)
    start = -room.ctypes.data % BYTES_ALIGNED
    order: Any = "C" if array.flags.c_contiguous else "F"
    copy: Array = np.ndarray(array.shape, array.dtype, room.data, start, None, order)
    copy[...] = array
    return copy
