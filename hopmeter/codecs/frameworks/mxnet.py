"""The MXNet codec: arrays of numeric dtypes. The last release of MXNet needs an older NumPy version than hopmeter
does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import one_of
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.writing import Frames, refusal

ROOTS = ("mxnet",)
EXTRA = "mxnet"
APART = ("mxnet==1.9.1", "numpy==1.23.5")
MEGABYTES = (64, 250)
READERS: dict[str, Any] = {}
SHARED = "u1 i4 i8 f2 f4 f8"
"""The dtypes of NumPy arrays that MXNet can use without a copy."""
COPIED = "i1 b1"
_SHARED = frozenset(np.dtype(name) for name in SHARED.split())
_COPIED = frozenset(np.dtype(name) for name in COPIED.split())


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Wait until the array is computed, append its memory to `frames`, and return the array's header node.

    GPU memory is copied to the host.
    """
    mx = import_package("mxnet", EXTRA)
    if not isinstance(obj, mx.nd.NDArray) or obj.stype != "default":
        raise refusal(obj, 'send dense arrays: `array.tostype("default")`')
    gpu = obj.context.device_type == "gpu"
    here = obj.as_in_context(mx.cpu()) if gpu else obj
    kind = "np" if isinstance(obj, mx.np.ndarray) else "nd"
    return arrays.write(_memory(here), frames, "mxnet", kind + ".gpu" if gpu else kind)


def _memory(array: Any) -> Any:
    if np.dtype(array.dtype) not in _SHARED or not array.shape:
        return array.asnumpy()
    return arrays.from_capsule(array.to_dlpack_for_read())


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that converts a NumPy array to an MXNet array. The MXNet array shares the memory of a row-major
    NumPy array if MXNet supports its dtype.

    The resulting MXNet array is read-only.
    """
    mx = import_package("mxnet", EXTRA)
    kind, _, sent = one_of(wanted.extra or "nd", "nd", "np", "nd.gpu", "np.gpu").partition(".")
    module = mx.np if kind == "np" else mx.nd
    place = _place(mx, wanted.device, bool(sent))

    def make(array: Any) -> Any:
        array = arrays.to_native_order(arrays.to_writable(array))
        # Without `np_shape`, MXNet treats the shape of a zero-dimensional or empty array as unknown.
        with mx.util.np_shape(True):
            made = _mxnet_array(mx, module, array)
            return made if place is None else made.as_in_context(place)

    return make


def _mxnet_array(mx: Any, module: Any, array: Any) -> Any:
    if array.dtype in _SHARED:
        array = array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)
        return mx.nd.from_numpy(array, zero_copy=True, array_cls=module.NDArray if module is mx.nd else module.ndarray)
    if array.dtype not in _COPIED:
        raise CodecError(
            "E-FRAMEWORK-DTYPE", f"MXNet has no arrays of dtype {array.dtype}", "receive the array as numpy"
        )
    return module.array(array, dtype=array.dtype)


def _place(mx: Any, asked: str | None, sent: bool) -> Any:
    """Return the requested GPU or, by default, the first GPU if the sender's array was on a GPU. Return None if the
    array is to be created on the CPU."""
    if asked is None:
        return mx.gpu(0) if sent and _gpus() else None
    number = devices.gpu("MXNet", asked, _gpus)
    return None if number is None else mx.gpu(number)


def _form(array: Any, place: str) -> Any:
    mx = import_package("mxnet", EXTRA)
    return mx.nd.array(array, ctx=mx.gpu() if place else mx.cpu(), dtype=array.dtype)


def _gpus() -> int:
    return int(import_package("mxnet", EXTRA).context.num_gpus())


FORM = Form(_form, lambda array: array.asnumpy(), "float32", gpu="gpu", gpus=_gpus, noun="an MXNet array")
