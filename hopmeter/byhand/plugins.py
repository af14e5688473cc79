"""What the study calls plugins: frameworks, with the object of ones that each of them sends."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopmeter.codecs import encode, install_hint
from hopmeter.codecs.lookup import own_packages
from hopmeter.codecs.packing import pack_into, packed_bytes
from hopmeter.node.forms import form_of, forms, place_of
from hopmeter.system.toml_files import one_of


@dataclass(frozen=True)
class Plugin:
    """One framework on one device."""

    codec: str
    """Its name in hopmeter.codecs."""
    device: str = "cpu"
    own: Callable[[int, int], Any] | None = None
    """Its object of height x width ones, where that is not what nodes make of an array of ones."""

    def made(self, height: int, width: int) -> Any:
        """The object it sends. Raises CodecError where its device is not here."""
        place = place_of(self.codec, self.device)
        form = form_of(self.codec)
        return self.own(height, width) if self.own else form.make(np.ones((height, width), form.floats), place)


def _use(module: str) -> Any:
    return importlib.import_module(module)


def _coloured(height: int, width: int) -> Any:
    return _use("PIL.Image").new("RGB", (width, height), (1, 1, 1))


WITHOUT = {
    "mxnet_gpu": "hopmeter has MXNet for the CPU only: take mxnet",
    "trax": "Trax has no codec: send its arrays as jax",
}
PLUGINS = {
    codec if device == "cpu" or not form.cpu else f"{codec}_{device}": Plugin(codec, device)
    for codec, form in forms().items()
    for device in form.devices
    if f"{codec}_{device}" not in WITHOUT
}
PLUGINS["pillow"] = Plugin("pillow", own=_coloured)
OTHER_NAMES = {
    "pytorch": "torch",
    "pytorch_gpu": "torch_gpu",
    "cupy_gpu": "cupy",
    "pil": "pillow",
    "pandas_pyarrow": "pandas_arrow",
}
"""The study's names for what has another one here."""


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
    return "" if own_packages(PLUGINS[name].codec) else install_hint(PLUGINS[name].codec)


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
