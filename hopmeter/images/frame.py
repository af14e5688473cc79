"""Defines the frame of an image or video file, and imports the libraries that decode such files."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.images.source import PictureError, Size

CHANNELS = 3


@dataclass(frozen=True)
class Frame:
    """Pixels in rgb8 format: height x width x 3 bytes, in contiguous rows."""

    pixels: bytes
    size: Size
    own_size: Size
    """The size in the file, after the EXIF orientation is applied."""
    codec: str
    """The encoding of the file, such as png or h264."""
    turned: bool = False
    """Whether the frame was rotated or mirrored according to the file's EXIF orientation."""


def library(module: str, title: str, framework: str, file: Path) -> Any:
    """Import a decoding library. Raises a PictureError that contains the install command if the library is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        what = f"{file} is decoded by {title}, which is not installed"
        raise PictureError("E-FRAMEWORK-MISSING", what, f"hopmeter build --framework {framework}") from cause
