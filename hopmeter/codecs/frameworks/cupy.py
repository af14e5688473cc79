"""The CuPy codec: arrays on an NVIDIA GPU are sent through host memory, and arrive on a GPU or as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import integer
from hopmeter.codecs.cuda import nodes
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.writing import Frames, Lending, refusal

ROOTS = ("cupy",)
EXTRA = "cupy"
BUILDS = ("cupy-cuda13x", "cupy-cuda11x", "cupy")
"""Alternative distributions of the package, for other CUDA versions."""
MEGABYTES = (125, 330)
READERS: dict[str, Any] = {}


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Copy the array from the GPU to the host, append the copy to `frames`, and return the array's header node."""
    cupy = import_package("cupy", EXTRA)
    if not isinstance(obj, cupy.ndarray):
        raise refusal(obj, "send dense arrays: `matrix.toarray()`")
    if isinstance(frames, Lending) and (node := _lend(obj, frames)):
        return node
    return arrays.write(cupy.asnumpy(obj), frames, "cupy", int(obj.device.id))


def _lend(obj: Any, frames: Lending) -> str | None:
    # CuPy's own DLPack export would query the CUDA driver about streams, which is unnecessary, because the lender waits
    # for all streams.
    return nodes.lend_array(lambda: (np.asarray(_Seen(obj)), None), frames, "cupy", int(obj.device.id))


class _Seen:
    """Lets NumPy treat a CuPy array as a NumPy array. NumPy must not read the array's elements, which are in GPU
    memory."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        of = self._array
        place = {"data": (int(of.data.ptr), False), "strides": of.strides, "shape": of.shape}
        return {"version": 3, "typestr": of.dtype.str, **place}


def from_device(wanted: arrays.Wanted) -> Callable[[Any], Any]:  # noqa: ARG001 (all codecs have the same arguments)
    """Return a function that builds an array over another process's GPU memory."""
    cupy = import_package("cupy", EXTRA)

    def make(ghost: Any) -> Any:
        seen = ghost.array
        memory = cupy.cuda.UnownedMemory(seen.ctypes.data, seen.nbytes, seen, ghost.device)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        return cupy.ndarray(seen.shape, seen.dtype, pointer, seen.strides)

    return make


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that copies an array to a GPU.

    Raises CodecError if this machine has no GPU. A receiver without a GPU must request a NumPy array.
    """
    cupy = import_package("cupy", EXTRA)
    here = _count(cupy)
    number = min(0 if wanted.extra is None else integer(wanted.extra), here - 1)
    if wanted.device is not None:
        asked = devices.gpu("CuPy", wanted.device, lambda: here)
        number = -1 if asked is None else asked
    if number < 0:
        raise CodecError(
            "E-NO-DEVICE", "a CuPy array needs a GPU, and this machine has none", 'receive it with `as_="numpy"`'
        )

    def make(array: Any) -> Any:
        with cupy.cuda.Device(number):
            return cupy.asarray(array)

    return make


def _count(cupy: Any) -> int:
    """Return the number of GPUs, or 0 if CuPy finds no driver."""
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def _settle(array: Any) -> Any:
    array.device.synchronize()
    return array


FORM = Form(
    lambda array, _: import_package("cupy", EXTRA).asarray(array),
    lambda array: array.get(),
    cpu=False,
    gpu="cuda",
    gpus=lambda: _count(import_package("cupy", EXTRA)),
    settle=_settle,
    noun="a CuPy array",
)
