"""Describes the objects of cells that have a codec: the device, and the arrays from which the objects are made.

The constant `FORM` of a codec defines how the codec's framework creates the objects.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import Lender, comparison_codec, comparison_codecs, decode, encode, frameworks, install_hint
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Array, Form
from hopmeter.codecs.lookup import codecs

ONES = re.compile(r"array:(\d+(?:x\d+)*)")
PIXELS = re.compile(r"(?:image|frames):(\d+)x(\d+)(?::(\d+):(.+))?", re.DOTALL)


@functools.cache
def forms() -> dict[str, Form]:
    """Return the `Form` of every framework that creates objects from arrays."""
    return {name: codec.FORM for name, codec in codecs().items() if hasattr(codec, "FORM")}


@functools.cache
def codec_names() -> tuple[str, ...]:
    """Return the names of all codecs that can be measured: first the frameworks that create objects from arrays, then
    the codecs for comparison."""
    return (*forms(), *comparison_codecs())


def devices(codec: str) -> tuple[str, ...]:
    """Return the devices that a codec supports: `cpu`, `gpu` or both."""
    return form_of(codec).devices


def lenders() -> list[str]:
    """Return every codec that can share the GPU memory of its objects with another process by a handle."""
    return [name for name, codec in codecs().items() if name in forms() and hasattr(codec, "from_device")]


def form_of(codec: str) -> Form:
    """Return the `Form` of a codec's objects. Comparison codecs use NumPy objects."""
    return forms().get(codec) or forms()["numpy"]


def is_moving(text: str) -> bool:
    """Return whether the description of an object stands for a video, whose frames are sent one after another."""
    return text.startswith("frames:")


def arrays_of(text: str, form: Form) -> list[Array]:
    """Create the arrays that the description of an object specifies.

    `array:200x200` is an array of ones, `image:1440x1080` is an image with three bytes per pixel, and `frames:640x480`
    is a video of such images. The arrays for `image:640x480:1:FILE` and `frames:640x480:25:FILE` are read from the
    file.
    """
    if ones := ONES.fullmatch(text):
        return [np.ones(tuple(map(int, ones[1].split("x"))), form.floats)]
    if (pixels := PIXELS.fullmatch(text)) is None:
        raise CodecError("E-NO-OBJECT", f"{text} does not describe an object", "write array:200x200 or image:1440x1080")
    width, height, many, file = pixels.groups()
    shape = (int(height), int(width), 3)
    if file:
        return list(np.fromfile(file, np.uint8).reshape(int(many), *shape))
    return [(np.arange(math.prod(shape)) % 251).astype(np.uint8).reshape(shape)]


def place_of(codec: str, device: str, share: str = "none") -> str:
    """Return the name by which a codec's framework knows a device (`cpu` or `gpu`). For the CPU, the name is an empty
    string.

    Raises CodecError if the framework or the device is missing, or if the memory of the device cannot be shared as
    requested (`cuda-ipc`).
    """
    if codec in frameworks() and (absent := install_hint(codec)):
        raise CodecError("E-FRAMEWORK-MISSING", absent)
    form = form_of(codec)
    if device not in devices(codec):
        raise CodecError("E-NO-DEVICE", f"{codec} does not support objects on the {device.upper()}")
    if device == "cpu":
        return ""
    if not form.has_gpu():
        raise CodecError("E-NO-DEVICE", f"{codec} finds no GPU on this machine")
    if share != "none" and codec not in lenders():
        raise CodecError("E-GPU-NOT-LENDABLE", f"{codec} cannot share GPU memory")
    return form.gpu


def encoder_of(codec: str, place: str, settle: Callable[[Any], Any] | None, share: str = "none") -> tuple[Any, Any]:
    """Return a codec's functions `encode(obj) -> frames` and `decode(frames) -> obj`.

    `share` is the way in which objects share GPU memory.
    """
    if codec in comparison_codecs():
        module = comparison_codec(codec)
        return module.encode, module.decode
    if not place:
        return encode, decode
    send = functools.partial(_encode_lent, Lender()) if share != "none" else encode
    shared = None if share == "none" else share
    if settle is None:
        return send, lambda frames: decode(frames, None, "gpu", shared)
    return send, lambda frames: settle(decode(frames, None, "gpu", shared))


def _encode_lent(lender: Lender, obj: Any) -> list[Any]:
    """Encode an object as handles to its GPU memory, without a copy.

    If the object could only be copied, raises CodecError with the reason.
    """
    frames = encode(obj, lender)
    if lender.copied:
        raise CodecError(
            "E-GPU-NOT-LENDABLE",
            f"its memory cannot be shared: {'; '.join(lender.copied)}",
            "measure the codec without `share`",
        )
    return frames
