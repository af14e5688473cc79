"""The Paddle codec: dense numeric tensors. A tensor on a device other than the CPU is copied to the CPU and back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import listing, one_of
from hopmeter.codecs.cuda import nodes
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import import_package
from hopmeter.codecs.writing import Frames, Lending, refusal

ROOTS = ("paddle",)
EXTRA = "paddle"
BUILDS = ("paddlepaddle-gpu",)
MEGABYTES = (195, 720)
RAW = True
READERS: dict[str, Any] = {}


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers have the same arguments)
    """Append a tensor's memory to `frames` via DLPack, and return the tensor's header node.

    Paddle copies a tensor if DLPack does not support its dtype.
    """
    paddle = import_package("paddle", EXTRA)
    if not isinstance(obj, paddle.Tensor) or not obj.is_dense():
        raise refusal(obj, "hopmeter sends only dense tensors; use `to_dense()`")
    gpu = paddle.is_compiled_with_cuda() and obj.place.is_gpu_place()
    extra = ("gpu" if gpu else None, obj.stop_gradient)
    here = obj if obj.stop_gradient else obj.detach()
    if isinstance(frames, Lending) and (node := nodes.lend_tensor(here, frames, "paddle", extra)):
        return node
    here = here.cpu() if gpu else here
    memory = _memory(paddle, here)
    return _write_rare(paddle, here, frames, extra) if memory is None else arrays.write(memory, frames, "paddle", extra)


def _memory(paddle: Any, tensor: Any) -> Any:
    """Return the tensor's memory as an array, or None if DLPack or NumPy cannot represent the tensor.

    `np.from_dlpack(tensor)` takes three times as long as this function.
    """
    try:
        return arrays.from_capsule(paddle.utils.dlpack.to_dlpack(tensor))
    except (TypeError, RuntimeError, BufferError, ValueError):
        return None


def _write_rare(paddle: Any, tensor: Any, frames: Frames, extra: Any) -> str:
    name = str(tensor.dtype).removeprefix("paddle.")
    if name != "bfloat16" and not name.startswith("float8"):
        return arrays.write(tensor.numpy(), frames, "paddle", extra)
    raw = tensor.contiguous().view("int16" if name == "bfloat16" else "uint8")
    memory = _memory(paddle, raw)
    return arrays.write(raw.numpy() if memory is None else memory, frames, "paddle", extra, name)


def from_device(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that builds a tensor over another process's GPU memory."""
    paddle = import_package("paddle", EXTRA)
    _, stop = listing(wanted.extra, 2) if wanted.extra is not None else (None, True)
    stop = one_of(stop, True, False)

    def make(ghost: Any) -> Any:
        tensor = paddle.utils.dlpack.from_dlpack(ghost.__dlpack__())
        tensor.stop_gradient = stop
        return tensor

    return make


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that shares an array's memory with a Paddle tensor via DLPack.

    Paddle tensors are writable, so read-only memory is copied.
    """
    paddle = import_package("paddle", EXTRA)
    share = _loader(paddle)
    device, stop = listing(wanted.extra, 2) if wanted.extra is not None else (None, True)
    stop = one_of(stop, True, False)
    place = _place(wanted.device, one_of(device, None, "gpu"))

    def make(array: Any) -> Any:
        if array.dtype.char == "H" and not wanted.raw:
            raise CodecError(
                "E-FRAMEWORK-DTYPE",
                "Paddle treats uint16 as bfloat16",
                'receive the tensor as numpy: `decode(frames, as_="numpy")`',
            )
        array = arrays.to_native_order(arrays.to_writable(array))
        try:
            tensor = share(array)
        except (RuntimeError, ValueError, BufferError):
            tensor = paddle.to_tensor(array)
        if wanted.raw:
            tensor = tensor.view(wanted.raw)
        if place is not None:
            tensor = tensor.to(place)
        tensor.stop_gradient = stop
        return tensor

    return make


@functools.cache
def _loader(paddle: Any) -> Callable[[Any], Any]:
    """Return `paddle.utils.dlpack.from_dlpack`, or the internal function that Paddle's data loader uses.

    `paddle.Tensor(…)` takes six times as long, because it inspects its arguments.
    """

    def internal_loader() -> Callable[[Any], Any]:
        core = paddle.base.core
        load, wrapped = core.from_dlpack, core.eager.read_next_tensor_list
        return lambda array: wrapped([load(array.__dlpack__())])[0]

    def load_by_dlpack(array: Any) -> Any:
        return paddle.utils.dlpack.from_dlpack(array.__dlpack__())

    shared: Callable[[Any], Any] = arrays.fastest_loader(internal_loader, load_by_dlpack, _identity)
    return shared


def _identity(tensor: Any) -> Any:
    place = (tensor.data_ptr(), str(tensor.place), tensor.persistable, tensor.stop_gradient)
    return (type(tensor), tensor.dtype, place, tensor.tolist())


def _place(asked: str | None, sent: str | None) -> str | None:
    """Return the requested GPU or, by default, any GPU if the sender's tensor was on a GPU. Return None if the tensor
    is to be created on the CPU."""
    if asked is None:
        return "gpu" if sent and _gpus() else None
    number = devices.gpu("paddle", asked, _gpus)
    return None if number is None else f"gpu:{number}"


def _form(array: Any, place: str) -> Any:
    return import_package("paddle", EXTRA).to_tensor(array, place=place or "cpu")


def _gpus() -> int:
    paddle = import_package("paddle", EXTRA)
    return int(paddle.device.cuda.device_count()) if paddle.is_compiled_with_cuda() else 0


FORM = Form(_form, lambda tensor: tensor.numpy(), "float32", gpu="gpu", gpus=_gpus, noun="a Paddle tensor")
