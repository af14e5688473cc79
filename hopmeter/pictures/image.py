"""Images, by Pillow."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from hopmeter.pictures.frame import Frame, library
from hopmeter.pictures.source import PictureError, Size

DEEP = ("I", "F")
"""Modes of more than 8 bits a channel begin so; making them 8 would be a choice of whoever has taken the picture."""
BROKEN = (OSError, ValueError, SyntaxError, EOFError, struct.error)
"""What Pillow raises for files of other things, damaged ones, and ones that would fill the memory."""


def frames(file: Path, size: Size | None) -> Iterator[Frame]:
    """The one frame of an image, of a size if one is given (bicubic)."""
    image = library("PIL.Image", "Pillow", "pillow", file)
    try:
        with image.open(file) as opened:
            if opened.mode.startswith(DEEP):
                raise PictureError(
                    f"{file} has pixels of more than 8 bits (mode {opened.mode})", "make it 8 bits first"
                )
            shown = opened.convert("RGB")
            codec, own_size = str(opened.format).lower(), shown.size
    except (*BROKEN, image.DecompressionBombError) as cause:
        remedy = "give a PNG, a JPEG or another image that Pillow reads; of a video write video:PATH"
        raise PictureError(f"{file} cannot be decoded as an image: {cause}", remedy) from cause
    fitting = shown if size in (None, own_size) else shown.resize(size, image.Resampling.BICUBIC)
    yield Frame(fitting.tobytes(), fitting.size, own_size, codec)
