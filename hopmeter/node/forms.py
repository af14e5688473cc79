"""What objects the frameworks make of an array of numbers, and their own way back to one. Frameworks are imported when
they are asked for, and only then."""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopmeter.codecs import frameworks, missing, named, names
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import codec_named

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Form:
    """How an array becomes an object of a framework on a device, and an array again by the framework's own means."""

    make: Callable[[Array, str], Any]
    read: Callable[[Any], Array] = np.asarray
    floats: str = "float64"
    """What the framework makes ones of where nobody says otherwise."""
    gpu: str = ""
    """A GPU in the framework's words; empty where it knows none."""
    has_gpu: Callable[[], bool] = lambda: False
    settle: Callable[[Any], Any] | None = None
    """Waits for a copy to a GPU that goes on after the call that asked for it."""


def _use(module: str) -> Any:
    return importlib.import_module(module)


def _rows(array: Array) -> Array:
    """A table: an image has a row for each pixel."""
    return array if array.ndim <= 2 else array.reshape(-1, array.shape[-1])


def _torch(array: Array, place: str) -> Any:
    return _use("torch").from_numpy(array.copy()).to(place or "cpu")


def _tensorflow(array: Array, place: str) -> Any:
    tf = _use("tensorflow")
    with tf.device(place or "/CPU:0"):
        return tf.identity(tf.constant(array))


def _jax(array: Array, place: str) -> Any:
    jax = _use("jax")
    return jax.block_until_ready(jax.device_put(array, jax.devices(place or "cpu")[0]))


def _mxnet(array: Array, place: str) -> Any:
    mx = _use("mxnet")
    return mx.nd.array(array, ctx=mx.gpu() if place else mx.cpu(), dtype=array.dtype)


def _paddle(array: Array, place: str) -> Any:
    return _use("paddle").to_tensor(array, place=place or "cpu")


def _gpus(module: str, count: Callable[[Any], int]) -> Callable[[], bool]:
    def there() -> bool:
        try:
            return count(_use(module)) > 0
        except Exception:  # noqa: BLE001 (each library has errors of its own for a driver that is not there)
            return False

    return there


_PANDAS = Form(lambda array, _: _use("pandas").DataFrame(_rows(array)), lambda obj: obj.to_numpy())

FORMS = {
    "numpy": Form(lambda array, _: array),
    **dict.fromkeys(("pandas", "pandas1"), _PANDAS),
    "polars": Form(lambda array, _: _use("polars").DataFrame(_rows(array)), lambda obj: obj.to_numpy()),
    "pyarrow": Form(lambda array, _: _use("pyarrow").Tensor.from_numpy(array), lambda obj: obj.to_numpy()),
    "xarray": Form(lambda array, _: _use("xarray").DataArray(array), lambda obj: obj.to_numpy()),
    "dask": Form(lambda array, _: _use("dask.array").from_array(array, chunks=-1), lambda obj: obj.compute()),
    "pillow": Form(lambda array, _: _use("PIL.Image").fromarray(array), floats="float32"),
    "pint": Form(
        lambda array, _: _use("pint").get_application_registry().Quantity(array, "meter"), lambda obj: obj.magnitude
    ),
    "zarr": Form(lambda array, _: _use("zarr").array(array), lambda obj: obj[...]),
    "mxnet": Form(_mxnet, lambda obj: obj.asnumpy(), "float32", "gpu", _gpus("mxnet", lambda m: m.context.num_gpus())),
    "torch": Form(
        _torch, lambda obj: obj.cpu().numpy(), "float32", "cuda", _gpus("torch", lambda m: m.cuda.device_count())
    ),
    "tensorflow": Form(
        _tensorflow,
        lambda obj: obj.numpy(),
        "float32",
        "/GPU:0",
        _gpus("tensorflow", lambda m: len(m.config.list_physical_devices("GPU"))),
    ),
    "jax": Form(
        _jax,
        np.asarray,
        "float32",
        "gpu",
        _gpus("jax", lambda m: len(m.devices("gpu"))),
        lambda obj: _use("jax").block_until_ready(obj),
    ),
    "paddle": Form(
        _paddle, lambda obj: obj.numpy(), "float32", "gpu", _gpus("paddle", lambda m: m.device.cuda.device_count())
    ),
    "cupy": Form(
        lambda array, _: _use("cupy").asarray(array),
        lambda obj: obj.get(),
        gpu="cuda",
        has_gpu=_gpus("cupy", lambda m: m.cuda.runtime.getDeviceCount()),
    ),
}
"""Where the codec's own way from an array is not the framework's usual one, or NumPy cannot read what it makes."""

GPU_ONLY = ("cupy",)


@functools.cache
def codec_names() -> tuple[str, ...]:
    """Every codec that can be measured: frameworks that make objects of arrays, then the codecs to compare with."""
    made = [name for name in frameworks() if name in FORMS or _makes_arrays(name)]
    return (*made, *names())


def _makes_arrays(name: str) -> bool:
    codec = codec_named(name)
    return hasattr(codec, "from_array") or hasattr(codec, "adopt")


def devices(codec: str) -> tuple[str, ...]:
    """Where a codec's objects can live, `cpu` or `gpu`."""
    on_cpu = () if codec in GPU_ONLY else ("cpu",)
    return (*on_cpu, "gpu") if form_of(codec).gpu else on_cpu


def form_of(codec: str) -> Form:
    """The form of a codec's objects; codecs to compare with carry NumPy's."""
    if codec in names():
        return FORMS["numpy"]
    return FORMS.get(codec) or Form(functools.partial(_adopted, codec))


def _adopted(codec: str, array: Array, place: str) -> Any:
    """What the codec itself makes of an array; for a framework that has no form here."""
    from hopmeter.codecs import arrays

    module = codec_named(codec)
    made = module.from_array(arrays.Wanted("", place or None, None)) if hasattr(module, "from_array") else module.adopt
    return made(array)


def array_of(text: str, form: Form) -> Array:
    """The numbers of `array:200x200` (ones) or `image:1440x1080` (pixels of three bytes)."""
    kind, _, size = text.partition(":")
    if not re.fullmatch(r"\d+(x\d+)*", size) or kind not in ("array", "image"):
        raise CodecError(f"{text} is no object", "write array:200x200 or image:1440x1080")
    shape = tuple(map(int, size.split("x")))
    if kind == "array":
        return np.ones(shape, form.floats)
    width, height = shape
    return (np.arange(math.prod(shape) * 3) % 251).astype(np.uint8).reshape(height, width, 3)


def place_of(codec: str, device: str) -> str:
    """A device in the words of the codec's framework, empty for the CPU. Raises CodecError where it is not there."""
    if codec in frameworks() and (absent := missing(codec)):
        raise CodecError(absent)
    form = form_of(codec)
    if device not in devices(codec):
        raise CodecError(f"{codec} keeps nothing on the {device.upper()}")
    if device == "cpu":
        return ""
    if not form.has_gpu():
        raise CodecError(f"{codec} finds no GPU here")
    return form.gpu


def encoder_of(codec: str, place: str, settle: Callable[[Any], Any] | None) -> tuple[Any, Any]:
    """`encode(obj) -> frames` and `decode(frames) -> obj`."""
    if codec in names():
        module = named(codec)
        return module.encode, module.decode
    from hopmeter.codecs import decode, encode

    if not place:
        return encode, decode
    if settle is None:
        return encode, lambda frames: decode(frames, None, "gpu")
    return encode, lambda frames: settle(decode(frames, None, "gpu"))
