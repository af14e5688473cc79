"""What the study calls plugins: frameworks, with the object of ones that each of them sends."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopmeter.codecs import encode, missing
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import apart
from hopmeter.codecs.packing import pack_into, packed_bytes
from hopmeter.toml_files import one_of


@dataclass(frozen=True)
class Plugin:
    """One framework on one device."""

    codec: str
    """Its name in hopmeter.codecs."""
    make: Callable[[int, int], Any]
    """Its object of height x width ones."""
    gpu: str = ""
    """The device in the framework's words; empty for the CPU."""


def _ones(height: int, width: int) -> Any:
    return np.ones((height, width))


def _use(module: str) -> Any:
    return importlib.import_module(module)


def _arrow_pandas(height: int, width: int) -> Any:
    kind = _use("pandas").ArrowDtype(_use("pyarrow").float64())
    return _use("pandas").DataFrame(_ones(height, width)).astype(kind)


def _torch(place: str) -> Callable[[int, int], Any]:
    return lambda height, width: _use("torch").ones((height, width), device=place)


def _paddle(place: str) -> Callable[[int, int], Any]:
    return lambda height, width: _use("paddle").to_tensor(np.ones((height, width), "float32"), place=place)


def _tensorflow(place: str) -> Callable[[int, int], Any]:
    def make(height: int, width: int) -> Any:
        tensorflow = _use("tensorflow")
        with tensorflow.device(place):
            return tensorflow.ones((height, width))

    return make


def _jax(place: str) -> Callable[[int, int], Any]:
    def make(height: int, width: int) -> Any:
        jax = _use("jax")
        return jax.device_put(np.ones((height, width), "float32"), jax.devices(place)[0])

    return make


def _metres(height: int, width: int) -> Any:
    return _use("pint").get_application_registry().Quantity(_ones(height, width), "meter")


PLUGINS = {
    "numpy": Plugin("numpy", _ones),
    "pandas": Plugin("pandas", lambda h, w: _use("pandas").DataFrame(_ones(h, w))),
    "pandas_arrow": Plugin("pandas", _arrow_pandas),
    "pandas1": Plugin("pandas1", lambda h, w: _use("pandas").DataFrame(_ones(h, w))),
    "polars": Plugin("polars", lambda h, w: _use("polars").DataFrame(_ones(h, w))),
    "pyarrow": Plugin("pyarrow", lambda h, w: _use("pyarrow").Tensor.from_numpy(_ones(h, w))),
    "xarray": Plugin("xarray", lambda h, w: _use("xarray").DataArray(_ones(h, w))),
    "dask": Plugin("dask", lambda h, w: _use("dask.array").ones((h, w))),
    "pillow": Plugin("pillow", lambda h, w: _use("PIL.Image").new("RGB", (w, h), (1, 1, 1))),
    "zarr": Plugin("zarr", lambda h, w: _use("zarr").array(_ones(h, w))),
    "pint": Plugin("pint", _metres),
    "torch": Plugin("torch", _torch("cpu")),
    "torch_gpu": Plugin("torch", _torch("cuda"), gpu="cuda"),
    "tensorflow": Plugin("tensorflow", _tensorflow("/CPU:0")),
    "tensorflow_gpu": Plugin("tensorflow", _tensorflow("/GPU:0"), gpu="/GPU:0"),
    "jax": Plugin("jax", _jax("cpu")),
    "jax_gpu": Plugin("jax", _jax("gpu"), gpu="gpu"),
    "paddle": Plugin("paddle", _paddle("cpu")),
    "paddle_gpu": Plugin("paddle", _paddle("gpu"), gpu="gpu"),
    "mxnet": Plugin("mxnet", lambda h, w: _use("mxnet").nd.ones((h, w))),
    "cupy": Plugin("cupy", lambda h, w: _use("cupy").ones((h, w)), gpu="cuda"),
}
OTHER_NAMES = {
    "pytorch": "torch",
    "pytorch_gpu": "torch_gpu",
    "cupy_gpu": "cupy",
    "pil": "pillow",
    "pandas_pyarrow": "pandas_arrow",
}
"""The study's names for what has another one here."""
WITHOUT = {
    "mxnet_gpu": "hopmeter has MXNet for the CPU only: take mxnet",
    "trax": "Trax has no codec: send its arrays as jax",
}


def settled(word: str) -> str:
    """A plugin's name here, for the study's name of it."""
    return OTHER_NAMES.get(word.lower(), word.lower())


def absent(name: str) -> str:
    """Why a plugin cannot be used here, with the command that gets it; empty where it can. Nothing is imported."""
    if name in WITHOUT:
        return WITHOUT[name]
    if name not in PLUGINS:
        return f"plugin {one_of(name, PLUGINS)}"
    # What has an environment of its own is looked for there, transport by transport.
    return "" if apart(PLUGINS[name].codec) else missing(PLUGINS[name].codec)


def made(name: str, height: int, width: int) -> Any:
    """A plugin's object; CodecError where its device is not here."""
    plugin = PLUGINS[name]
    try:
        return plugin.make(height, width)
    except Exception as cause:
        if not plugin.gpu:
            raise
        remedy = f"leave {name} out, or see whether the driver and a framework built for it are installed"
        raise CodecError(f"{plugin.codec} finds no GPU here ({type(cause).__name__})", remedy) from cause


class Expected:
    """What a listener must receive: what its own framework makes of ones, to the last byte."""

    def __init__(self, obj: Any) -> None:
        self._kind = type(obj)
        self._packed = _packed(obj)
        self._met_once = False

    def is_met(self, payload: memoryview, obj: Any) -> bool:
        """Whether a payload, and the object it was decoded to, are those of the listener's own object.

        The bytes of every payload are compared. Encoding the object again, to compare what was really decoded, takes
        some frameworks longer than a message may take: that is done for the first, and where the bytes differ.
        """
        if type(obj) is not self._kind:
            return False
        if self._met_once and bytes(payload) == self._packed:
            return True
        met = _packed(obj) == self._packed
        self._met_once = self._met_once or met
        return met


def _packed(obj: Any) -> bytes:
    frames = encode(obj)
    room = bytearray(packed_bytes(frames))
    pack_into(frames, room)
    return bytes(room)
