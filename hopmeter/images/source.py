"""Parses `image:PATH`, `video:PATH` and `video:640x480:PATH` into a file and a frame size."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import RefusedValueError, UsageError

# A path must contain a dot or a slash, so `image:1440` is an incomplete size and not a file.
FORM = re.compile(r"(image|video):(?:([0-9]+)x([0-9]+):)?(.*[./].*)", re.DOTALL)
MOVING = ("image/gif",)
"""Media types that begin with `image/`, although files of these types may contain a video."""

Size = tuple[int, int]
"""Width and height in pixels."""


class PictureError(UsageError):
    """Raised if an image or video file cannot be used as a payload. The error contains a remedy."""


@dataclass(frozen=True)
class Source:
    """A file whose frames are used as payloads: the file's absolute path and the requested frame size.

    If `size` is None, the frames keep their original size.
    """

    kind: str
    file: Path
    size: Size | None = None


def parse_source(text: str) -> Source | None:
    """Return the source that a payload names, or None if the payload does not name an image or video file.

    Raises RefusedValueError if the width or the height is 0.
    """
    found = FORM.fullmatch(text)
    if found is None:
        return None
    kind, width, height, path = found.groups()
    size = (int(width), int(height)) if width else None
    if size and not size[0] * size[1]:
        raise RefusedValueError("E-VALUE-RANGE", f'"{text}" has no pixel; a frame is at least 1x1')
    return Source(kind, _whole(Path(path)), size)


def of_file(path: Path, size: Size | None) -> Source:
    """Return the source for a file. Every file whose extension is not an image extension is treated as a video."""
    named, _ = mimetypes.guess_type(path.name)
    is_image = named is not None and named.startswith("image/") and named not in MOVING
    return Source("image" if is_image else "video", _whole(path), size)


def _whole(path: Path) -> Path:
    return path.expanduser().absolute()
