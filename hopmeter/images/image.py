"""Reads images with Pillow, and rotates or mirrors them according to the file's EXIF orientation."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hopmeter.images.frame import Frame, library
from hopmeter.images.source import PictureError, Size

DEEP = ("I", "F")
"""The first letters of Pillow's modes with more than 8 bits per channel.

Reducing such pixels to 8 bits requires a range of values, which only the user can choose.
"""
ORIENTATION, TURNING = 0x0112, range(2, 9)
"""EXIF's orientation tag, and its values that require a rotation or mirroring. An image with the orientation value 1 is
left unchanged."""
BROKEN = (OSError, ValueError, SyntaxError, EOFError, struct.error)
"""Exceptions that Pillow raises for corrupted files, for files that are not images, and for images that do not fit into
memory.
"""


def frames(file: Path, size: Size | None) -> Iterator[Frame]:
    """Yield the single frame of an image. If a size is given, the frame is resized with bicubic interpolation."""
    image = library("PIL.Image", "Pillow", "pillow", file)
    upright = importlib.import_module("PIL.ImageOps").exif_transpose
    try:
        with image.open(file) as opened:
            if opened.mode.startswith(DEEP):
                raise PictureError(
                    "E-NOT-DECODABLE",
                    f"{file} has more than 8 bits per channel (mode {opened.mode})",
                    "convert the image to 8 bits per channel first",
                )
            codec, turned = str(opened.format).lower(), _mark(opened) in TURNING
            shown = (upright(opened) if turned else opened).convert("RGB")
    except (*BROKEN, image.DecompressionBombError) as cause:
        remedy = "give a PNG, a JPEG or another image that Pillow reads; for a video, write video:PATH"
        raise PictureError("E-NOT-DECODABLE", f"{file} cannot be decoded as an image: {cause}", remedy) from cause
    fitting = shown if size in (None, shown.size) else shown.resize(size, image.Resampling.BICUBIC)
    yield Frame(fitting.tobytes(), fitting.size, shown.size, codec, turned)


def _mark(opened: Any) -> int | None:
    """Return the EXIF orientation of an image, or None if the orientation is missing or unreadable."""
    try:
        found: int | None = opened.getexif().get(ORIENTATION)
    except BROKEN:
        return None
    return found
