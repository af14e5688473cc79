"""The objects that cells with a codec carry: of which codec, of what array, on which device. How a framework makes its
own stands with its codec, as `FORM`."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from hopmeter.codecs import frameworks, missing, named, names
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Array, Form
from hopmeter.codecs.lookup import codecs


@functools.cache
def forms() -> dict[str, Form]:
    """Every framework that makes objects of arrays."""
    return {name: codec.FORM for name, codec in codecs().items() if hasattr(codec, "FORM")}


@functools.cache
def codec_names() -> tuple[str, ...]:
    """Every codec that can be measured: frameworks that make objects of arrays, then the codecs to compare with."""
    return (*forms(), *names())


def devices(codec: str) -> tuple[str, ...]:
    """Where a codec's objects can live, `cpu` or `gpu`."""
    return form_of(codec).devices


def form_of(codec: str) -> Form:
    """The form of a codec's objects; codecs to compare with carry NumPy's."""
    return forms().get(codec) or forms()["numpy"]


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
