"""The JAX codec: arrays of every NumPy and ml_dtypes dtype.

An array on a device other than the CPU is copied to the CPU and back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import one_of
from hopmeter.codecs.cuda import nodes
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.writing import Frames, Lending, refusal

ROOTS = ("jax", "jaxlib")
EXTRA = "jax"
MEGABYTES = (125, 470)
READERS: dict[str, Any] = {}
_numbers: set[Any] = set()
"""Dtypes that have been checked and are not dtypes of random keys."""


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Append the memory of a JAX array to `frames`, and return the array's header node.

    Raises CodecError for a tracer, and for an array of which this process can address only a part.
    """
    jax = import_package("jax", EXTRA)
    if not isinstance(obj, jax.Array) or isinstance(obj, jax.core.Tracer) or not obj.is_fully_addressable:
        raise refusal(obj, "send computed, complete arrays, not tracers or shards")
    if obj.dtype not in _numbers:
        if jax.dtypes.issubdtype(obj.dtype, jax.dtypes.prng_key):
            raise refusal(obj, "send `jax.random.key_data(key)`")
        _numbers.add(obj.dtype)
    if isinstance(frames, Lending) and (
        node := nodes.lend_tensor(jax.block_until_ready(obj), frames, "jax", _device(obj))
    ):
        return node
    return arrays.write(np.asarray(obj), frames, "jax", _device(obj))


def _device(array: Any) -> str | None:
    (first, *_) = array.devices()
    return None if first.platform == "cpu" else str(first.platform)


def from_device(wanted: arrays.Wanted) -> Callable[[Any], Any]:  # noqa: ARG001 (all codecs have the same arguments)
    """Return a function that builds an array over another process's GPU memory."""
    jax = import_package("jax", EXTRA)

    def make(ghost: Any) -> Any:
        _refuse_halving(jax, ghost.array.dtype)
        return jax.dlpack.from_dlpack(ghost)

    return make


def _refuse_halving(jax: Any, dtype: Any) -> None:
    if dtype.itemsize >= 8 and dtype.kind in "iufc" and dtype.str[1:] != "c8" and not jax.config.jax_enable_x64:
        remedy = 'call `jax.config.update("jax_enable_x64", True)` at the receiver, or receive the array as numpy'
        raise CodecError("E-FRAMEWORK-DTYPE", f"JAX would reduce {dtype} to half its width", remedy)


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that shares an array's memory with a JAX array via DLPack.

    JAX copies the array if its memory is not aligned to 64 bytes.
    """
    jax = import_package("jax", EXTRA)
    share = _loader(jax)
    place = _place(jax, wanted.device, one_of(wanted.extra, None, "gpu", "tpu", "cuda", "rocm"))

    def make(array: Any) -> Any:
        _refuse_halving(jax, array.dtype)
        if place is None and array.flags.c_contiguous and array.dtype.isnative and array.dtype.kind != "V":
            return share(arrays.to_writable(array))
        return jax.device_put(arrays.to_native_order(array), place)

    return make


@functools.cache
def _loader(jax: Any) -> Callable[[Any], Any]:
    """Return `jax.dlpack.from_dlpack`, or a jaxlib function that is five times as fast because it does not convert the
    dtype.

    `jax.device_put` shares memory too, but releases the memory only when JAX is next called.
    """

    def internal_loader() -> Callable[[Any], Any]:
        load = import_package("jaxlib.xla_client", EXTRA)._xla.dlpack_managed_tensor_to_buffer
        cpu = jax.local_devices(backend="cpu")[0]
        return lambda array: load(array.__dlpack__(), cpu, None)

    shared: Callable[[Any], Any] = arrays.fastest_loader(internal_loader, jax.dlpack.from_dlpack, _identity)
    return shared


def _identity(array: Any) -> Any:
    place = (array.unsafe_buffer_pointer(), array.sharding, getattr(array, "committed", None))
    return (type(array), array.dtype, array.weak_type, place, array.tolist())


def _place(jax: Any, asked: str | None, sent: str | None) -> Any:
    """Return the requested GPU, or None for the CPU. By default, return a device of the same kind as the sender's
    device, or None if this machine has no such device."""
    if asked is None:
        return next(iter(_devices(jax, sent)), None) if sent else None
    number = devices.gpu("JAX", asked, FORM.gpus)
    return None if number is None else _devices(jax, "gpu")[number]


def _devices(jax: Any, platform: str) -> list[Any]:
    try:
        return list(jax.devices(platform))
    except RuntimeError:
        return []


def _form(array: Any, place: str) -> Any:
    jax = import_package("jax", EXTRA)
    return jax.block_until_ready(jax.device_put(array, jax.devices(place or "cpu")[0]))


FORM = Form(
    _form,
    floats="float32",
    gpu="gpu",
    gpus=lambda: len(_devices(import_package("jax", EXTRA), "gpu")),
    settle=lambda array: import_package("jax", EXTRA).block_until_ready(array),
    noun="a JAX array",
)
