"""The Pillow codec: images of every mode.

An image's memory is shared via Arrow, or copied once if it is not contiguous.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices, lookup
from hopmeter.codecs.checks import buffer, integer, listing, one_of, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, part_node, refusal

ROOTS = ("PIL",)
EXTRA = "pillow"
ALSO = ("pyarrow",)
MEGABYTES = (7, 21)
MODES = {
    **dict.fromkeys(("1", "L", "P"), ("uint8", 1)),
    **dict.fromkeys(("LA", "La", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB"), ("uint8", 4)),
    **dict.fromkeys(("I;16", "I;16L", "I;16B", "I;16N"), ("int16", 1)),
    "I": ("int32", 1),
    "F": ("float32", 1),
}
"""The dtype and the number of channels per pixel in memory, by mode. Pillow stores three channels in four bytes."""
LARGEST = 2**64
"""The limit for received numerators and denominators, because reducing a fraction takes quadratic time in the number of
digits.
"""
TAGS = {"iTXt": ("image.text", "PngImagePlugin"), "IFDRational": ("image.rational", "TiffImagePlugin")}
"""Pillow's own types that an image file's `info` may contain."""


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append an image's pixels, palette and `info`, and return the header node."""
    image = lookup.import_package("PIL.Image", EXTRA)
    if type(obj).__name__ in TAGS:
        return _tag_value(obj, frames, depth)
    if not isinstance(obj, image.Image):
        raise refusal(obj, "send images; remove other objects from `image.info`")
    obj.load()
    way, memory = _memory(obj)
    frames.append(memory)
    palette = None if obj.palette is None else [obj.palette.mode, bytes(obj.palette.palette)]
    more = f'["list",[{node_of(palette, frames, depth)},{part_node(obj.info, frames, depth + 1, ".info")}]]'
    return f'["image","{obj.mode}",{obj.width},{obj.height},"{way}",{more}]'


def _tag_value(obj: Any, frames: Frames, depth: int) -> str:
    """Return the header node of a PNG text or a TIFF rational number. The header node of a PNG text includes the text's
    language and translated keyword."""
    tag, module = TAGS[type(obj).__name__]
    kind = getattr(lookup.import_package(f"PIL.{module}", EXTRA), type(obj).__name__)
    if type(obj) is not kind:
        raise refusal(obj, "convert it, or remove it from `image.info`")
    parts = (str(obj), obj.lang, obj.tkey) if tag == "image.text" else (obj.numerator, obj.denominator)
    return f'["{tag}",{",".join(node_of(part, frames, depth) for part in parts)}]'


def _read_text(node: list[Any], reading: Reading) -> Maker:
    makers = [reading.maker(part) for part in listing(node, 4)[1:]]
    kind = lookup.import_package("PIL.PngImagePlugin", EXTRA).iTXt

    def make(frames: Any) -> Any:
        value, *about = (make(frames) for make in makers)
        if not all(type(part) in (str, bytes, type(None)) for part in about):
            raise CodecError("E-PARTS", "language and key of a text of Pillow are not text")
        return kind(text(value), *about)

    return make


def _read_rational(node: list[Any], reading: Reading) -> Maker:
    makers = [reading.maker(part) for part in listing(node, 3)[1:]]
    kind = lookup.import_package("PIL.TiffImagePlugin", EXTRA).IFDRational

    def make(frames: Any) -> Any:
        above, below = (make(frames) for make in makers)
        if type(above) not in (int, float) or type(below) is not int or max(abs(above), abs(below)) >= LARGEST:
            raise CodecError("E-PARTS", "a rational number of Pillow has no valid numerator and denominator")
        return kind(above, below)

    return make


def _memory(obj: Any) -> tuple[str, memoryview]:
    pa = lookup.import_package("pyarrow", "pyarrow")
    if obj.mode not in MODES:
        raise refusal(obj, f"convert the image from mode {obj.mode} to another mode")
    if not obj.width or not obj.height:
        return "bytes", arrays.EMPTY
    try:
        return "memory", memoryview(_pixel_values(pa.array(obj)).buffers()[-1]).cast("B")
    except (
        ValueError,
        TypeError,
        AttributeError,
    ):  # the image is not contiguous, or this Pillow version cannot share memory
        return "bytes", memoryview(obj.tobytes())


def _pixel_values(array: Any) -> Any:
    return array.values if array.type.num_fields else array


def _read(node: list[Any], reading: Reading) -> Maker:
    _, mode, width, height, way, more = listing(node, 6)
    one_of(mode, *MODES), one_of(way, "memory", "bytes")
    size = (integer(width), integer(height))
    if max(size) >= 2**31:
        raise CodecError("E-FRAMEWORK-LIMIT", "the image is too large for Pillow")
    place, extras = reading.frame(), reading.maker(more)
    load = _image_over if way == "memory" else _image_copy

    def make(frames: Any) -> Any:
        image = load(mode, size, buffer(frames[place]))
        return _with_palette_and_info(image, *listing(extras(frames), 2))

    if reading.as_ in (None, "pillow"):
        devices.refuse_gpu("Pillow", reading.device)
        return make
    return _as_array(make, reading)


def _as_array(make: Maker, reading: Reading) -> Maker:
    convert = arrays.converter(reading)
    return lambda frames: convert(np.asarray(make(frames)))


def _image_over(mode: str, size: tuple[int, int], data: memoryview) -> Any:
    pa, image = lookup.import_package("pyarrow", "pyarrow"), lookup.import_package("PIL.Image", EXTRA)
    of, channels = MODES[mode]
    kind, pixels = getattr(pa, of)(), math.prod(size)
    if data.nbytes != pixels * channels * kind.bit_width // 8:
        raise CodecError("E-FRAME-LENGTH", f"the frame has {data.nbytes} bytes, which does not fit {pixels} pixels")
    array = pa.Array.from_buffers(kind, pixels * channels, [None, pa.py_buffer(data)])
    if channels > 1:
        array = pa.FixedSizeListArray.from_arrays(array, type=pa.list_(pa.field(mode, kind, nullable=False), channels))
    return image.fromarrow(array, mode, size)


def _image_copy(mode: str, size: tuple[int, int], data: memoryview) -> Any:
    image = lookup.import_package("PIL.Image", EXTRA)
    channels = image.getmodebands(mode)
    row = -(-size[0] // 8) if mode == "1" else size[0] * channels * np.dtype(MODES[mode][0]).itemsize
    if data.nbytes != row * size[1]:
        raise CodecError("E-FRAME-LENGTH", f"the frame has {data.nbytes} bytes, but the image needs {row * size[1]}")
    return image.frombytes(mode, size, data) if data.nbytes else image.new(mode, size)


def _with_palette_and_info(image: Any, palette: Any, info: Any) -> Any:
    if palette is not None:
        mode, data = listing(palette, 2)
        known = one_of(mode, "RGB", "RGBA", "RGBX", "CMYK", "L")
        if type(data) is not bytes or len(data) > 1024 or image.mode not in ("P", "PA", "L", "LA"):
            raise CodecError("E-PARTS", "the palette of a Pillow image is invalid")
        image.putpalette(data, known) if data else None
    if type(info) is not dict:
        raise CodecError("E-PARTS", "the info of a Pillow image is invalid")
    image.info.update(info)
    return image


def adopt(obj: Any) -> Any:
    """Return a Pillow image with the pixels of an array, whose axes are rows, columns and channels."""
    return lookup.import_package("PIL.Image", EXTRA).fromarray(np.asarray(obj))


READERS = {"image": _read, "image.text": _read_text, "image.rational": _read_rational}


FORM = Form(lambda array, _: adopt(array), floats="float32", noun="a Pillow image")
