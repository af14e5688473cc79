"""Paddle: dense tensors of numbers; one on another device is copied to the CPU and put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices
from hopmeter.codecs.checks import listing, one_of
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.lookup import required
from hopmeter.codecs.writing import Frames, refused

ROOTS = ("paddle",)
EXTRA = "paddle"
MEGABYTES = (195, 720)
RAW = True
READERS: dict[str, Any] = {}
_names: dict[Any, str] = {}


def write(obj: Any, frames: Frames, depth: int) -> str:  # noqa: ARG001 (all writers are called alike)
    """The memory of a tensor by DLPack, which alone copies nothing; what DLPack lacks is copied by Paddle."""
    paddle = required("paddle", EXTRA)
    if not isinstance(obj, paddle.Tensor) or not obj.is_dense():
        raise refused(obj, "only dense tensors travel: use `to_dense()`")
    gpu = paddle.is_compiled_with_cuda() and obj.place.is_gpu_place()
    extra = ("gpu" if gpu else None, obj.stop_gradient)
    here = obj if obj.stop_gradient else obj.detach()
    here = here.cpu() if gpu else here
    name = _names.get(obj.dtype) or _name(obj.dtype)
    if name == "bfloat16" or name.startswith("float8"):
        return arrays.write(_raw(here, name), frames, "paddle", extra, name)
    return arrays.write(_memory(here), frames, "paddle", extra)


def _name(dtype: Any) -> str:
    return _names.setdefault(dtype, str(dtype).removeprefix("paddle."))


def _raw(tensor: Any, name: str) -> Any:
    return _memory(tensor.contiguous().view("int16" if name == "bfloat16" else "uint8"))


def _memory(tensor: Any) -> Any:
    try:
        return np.from_dlpack(tensor)
    except (TypeError, RuntimeError, BufferError, ValueError):
        return tensor.numpy()


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Shares the array's memory by DLPack; tensors can be written to, so what cannot is copied."""
    paddle = required("paddle", EXTRA)
    load = paddle.utils.dlpack.from_dlpack
    device, stop = listing(wanted.extra, 2) if wanted.extra is not None else (None, True)
    stop = one_of(stop, True, False)
    place = _place(wanted.device, one_of(device, None, "gpu"))

    def make(array: Any) -> Any:
        if array.dtype.char == "H" and not wanted.raw:
            raise CodecError("Paddle takes uint16 for bfloat16", 'receive it as numpy: `decode(frames, as_="numpy")`')
        array = arrays.native(arrays.writable(array))
        try:
            tensor = load(array.__dlpack__())
        except (RuntimeError, ValueError, BufferError):
            tensor = paddle.to_tensor(array)
        if wanted.raw:
            tensor = tensor.view(wanted.raw)
        if place is not None:
            tensor = tensor.to(place)
        tensor.stop_gradient = stop
        return tensor

    return make


def _place(asked: str | None, sent: str | None) -> str | None:
    """The GPU that is asked for, or some GPU for what was on one; none is the CPU."""
    if asked is None:
        return "gpu" if sent and _gpus() else None
    number = devices.gpu("paddle", asked, _gpus)
    return None if number is None else f"gpu:{number}"


def _form(array: Any, place: str) -> Any:
    return required("paddle", EXTRA).to_tensor(array, place=place or "cpu")


def _gpus() -> int:
    paddle = required("paddle", EXTRA)
    return int(paddle.device.cuda.device_count()) if paddle.is_compiled_with_cuda() else 0


FORM = Form(_form, lambda tensor: tensor.numpy(), "float32", gpu="gpu", gpus=_gpus)
