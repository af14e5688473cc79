"""The TensorFlow codec: eager numeric tensors, and variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import one_of
from hopmeter.codecs.cuda import nodes
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.writing import KEPT, Frames, Lending, refusal

ROOTS = ("tensorflow",)
EXTRA = "tensorflow"
BUILDS = ("tensorflow",)
"""An alternative distribution of the package that supports GPUs."""
MEGABYTES = (310, 1450)
READERS: dict[str, Any] = {}

_kept: dict[Any, str] = {}


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Append a tensor's memory to `frames`, and return the tensor's header node. A tensor on a device other than the
    CPU is copied to the CPU."""
    if isinstance(frames, Lending) and (node := _lend(obj, frames)):
        return node
    try:
        view = memoryview(obj)
        node = _kept[view.format, view.shape]
        frames.append(view.cast("B"))
    # The dtype or shape is unknown, or the memory cannot be shared.
    except (TypeError, KeyError, ValueError, BufferError):
        return _write_any(obj, frames)
    return node


def _lend(obj: Any, frames: Lending) -> str | None:
    if isinstance(obj, import_package("tensorflow", EXTRA).Variable):
        return nodes.lend_tensor(obj.read_value(), frames, "tensorflow", "variable")
    return nodes.lend_tensor(obj, frames, "tensorflow")


def from_device(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that builds a tensor over another process's GPU memory.

    If the sender's object was a variable, the returned function makes a copy of the memory on the same GPU.
    """
    tf = import_package("tensorflow", EXTRA)
    load = tf.experimental.dlpack.from_dlpack
    if one_of(wanted.extra, None, "variable") is None:
        return lambda ghost: load(ghost.__dlpack__())

    def variable(ghost: Any) -> Any:
        with tf.device(f"GPU:{ghost.device}"):
            return tf.Variable(load(ghost.__dlpack__()))

    return variable


def _write_any(obj: Any, frames: Frames) -> str:
    tf = import_package("tensorflow", EXTRA)
    if isinstance(obj, tf.Variable):
        return arrays.write(_memory(tf, obj.read_value()), frames, "tensorflow", "variable")
    array = _memory(tf, obj)
    node = arrays.write(array, frames, "tensorflow")
    if array.size and arrays.is_castable(array.dtype) and len(_kept) < KEPT:
        _kept[memoryview(array).format, array.shape] = node
    return node


def _memory(tf: Any, tensor: Any) -> Any:
    try:
        view = memoryview(tensor)
        if view.format == "O":
            raise TypeError("text")
        return np.asarray(view)
    except (TypeError, ValueError, BufferError):  # the buffer protocol lacks the dtype, or the object is not a tensor
        if not tf.is_tensor(tensor) or not hasattr(tensor, "numpy") or isinstance(tensor, tf.RaggedTensor):
            raise refusal(tensor, "send eager tensors; send the parts of ragged and sparse tensors") from None
        if tensor.dtype in (tf.string, tf.resource, tf.variant):
            raise refusal(tensor, "send text as a list of str: `tensor.numpy().tolist()`") from None
        return tensor.numpy()


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that shares an array's memory with a TensorFlow tensor via DLPack.

    TensorFlow copies arrays that it cannot share, such as arrays in column-major order.
    """
    tf = import_package("tensorflow", EXTRA)
    load = tf.experimental.dlpack.from_dlpack
    variable = one_of(wanted.extra, None, "variable") is not None
    place = None
    if wanted.device is not None:
        number = devices.gpu("TensorFlow", wanted.device, _gpus)
        place = "CPU:0" if number is None else f"GPU:{number}"

    def share(array: Any) -> Any:
        if not array.flags.writeable:
            array = arrays.aligned_copy(array)
        try:
            return load(array.__dlpack__())
        except Exception:  # noqa: BLE001 (many causes: columns, byte order, a dtype unknown to DLPack)
            return tf.convert_to_tensor(np.ascontiguousarray(arrays.to_native_order(array)).reshape(array.shape))

    def convert(array: Any) -> Any:
        with tf.device(place):
            tensor = tf.identity(share(array)) if place else share(array)
            return tf.Variable(tensor) if variable else tensor

    return convert if variable or place else share


def _form(array: Any, place: str) -> Any:
    tf = import_package("tensorflow", EXTRA)
    with tf.device(place or "/CPU:0"):
        return tf.identity(tf.constant(array))


def _gpus() -> int:
    return len(import_package("tensorflow", EXTRA).config.list_physical_devices("GPU"))


FORM = Form(_form, lambda tensor: tensor.numpy(), "float32", gpu="/GPU:0", gpus=_gpus, noun="a TensorFlow tensor")
