"""Decodes the frames of a file once, and stores the decoded frames one after another in a new file."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from hopmeter.errors import HopmeterError
from hopmeter.images import image, video
from hopmeter.images.frame import CHANNELS, Frame
from hopmeter.images.source import PictureError, Size, Source
from hopmeter.system.input_files import open_regular

READERS = {"image": image.frames, "video": video.frames}
LARGEST_BYTES = 1 << 30
"""The maximum total size of all frames of a source in bytes, because each sender holds all frames in memory."""


@dataclass(frozen=True)
class Decoded:
    """The decoded frames, and the file that contains them. The file has `frames` x height x width x 3 bytes."""

    source: Source
    file: Path
    codec: str
    size: Size
    own_size: Size
    """The size of a frame in the source file."""
    frames: int
    crc32: int
    """The checksum of all bytes. Runs that used the same source have the same checksum."""
    turned: bool = False
    """Whether the frames were rotated or mirrored according to the file's EXIF orientation."""

    @property
    def payload(self) -> dict[str, str | int]:
        """Return the description of the payload in the format that a node's spec uses."""
        return {"kind": "image", "width": self.size[0], "height": self.size[1]}

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts about the frames that are stored with the result."""
        return {
            "path": str(self.source.file),
            "codec": self.codec,
            "frames": self.frames,
            "shape": _shape(self.size),
            "source_shape": _shape(self.own_size),
            "channels": "rgb",
            "dtype": "uint8",
            "crc32": f"{self.crc32:08x}",
            **({"turned": True} if self.turned else {}),
        }


def _shape(size: Size) -> list[int]:
    return [size[1], size[0], CHANNELS]


def describe(facts: Mapping[str, Any]) -> str:
    """Return one line that describes decoded frames and the file from which they were decoded."""
    many, (height, width, _), (own_height, own_width, _) = facts["frames"], facts["shape"], facts["source_shape"]
    resized = "" if (height, width) == (own_height, own_width) else f", resized from {own_width}×{own_height}"
    frames = "1 frame" if many == 1 else f"{many} frames"
    turned = ", rotated as the metadata requires" if facts.get("turned") else ""
    return f"{facts['path']}: {facts['codec']}, {frames} of {width}×{height} rgb8{turned}{resized}"


def size_of(source: Source) -> Size:
    """Return the width and height of the first frame of a source. Raises PictureError if the image or video file has no
    frame."""
    try:
        with open_regular(source.file) as file:
            found = os.fstat(file.fileno())
    except OSError as cause:
        raise PictureError(
            "E-FILE-UNREADABLE", f"{source.file} cannot be read: {cause.strerror}", "name an image or a video"
        ) from cause
    return _size_of(source, (found.st_mtime_ns, found.st_size))


@lru_cache
def _size_of(source: Source, _: tuple[int, int]) -> Size:
    with closing(_frames(source)) as frames:
        return next(frames).size


def _frames(source: Source) -> Generator[Frame, None, None]:
    """Yield all frames of a source. Raises PictureError if the image or video file has no frame."""
    many = 0
    for frame in READERS[source.kind](source.file, source.size):
        many += 1
        yield frame
    if not many:
        raise PictureError("E-NO-FRAMES", f"{source.file} contains no frame", "choose another file")


def decode(source: Source, most: int | None, into: Path, check: Callable[[], None]) -> Decoded:
    """Decode the first `most` frames of a source, or all frames if `most` is None, and write the frames to a file. The
    function `check` is called between frames.

    Raises PictureError if a frame cannot be decoded or differs in size from the first frame, or if the frames are too
    large in total. Raises HopmeterError if the disk is full.
    """
    size_of(source)
    with closing(_frames(source)) as frames, _writing(into) as file:
        first, many, crc32 = next(frames), 0, 0
        for frame in _with(first, islice(frames, None if most is None else max(0, most - 1))):
            check()
            many += 1
            _refuse(source, frame, first, many)
            crc32 = zlib.crc32(frame.pixels, crc32)
            file.write(frame.pixels)
    return Decoded(source, into, first.codec, first.size, first.own_size, many, crc32, first.turned)


def _with(first: Frame, others: Iterator[Frame]) -> Iterator[Frame]:
    yield first
    yield from others


def _refuse(source: Source, frame: Frame, first: Frame, many: int) -> None:
    if frame.size != first.size:
        sizes = f"{_format_size(frame.size)}, but the first is {_format_size(first.size)}"
        what = f"frame {many - 1} of {source.file} is {sizes}"
        raise PictureError(
            "E-FRAME-SIZES", what, f"request one size: {source.kind}:{_format_size(first.size)}:{source.file}"
        )
    if many * len(frame.pixels) > LARGEST_BYTES:
        frames = f"{many} decoded frames of {source.file}, {_format_size(first.size)}"
        what = f"{frames}, take more than {LARGEST_BYTES >> 20} MiB"
        smaller = _format_size((max(1, first.size[0] // 2), max(1, first.size[1] // 2)))
        raise PictureError(
            "E-FRAMES-ROOM", what, f"request fewer messages and no duration, or smaller frames such as {smaller}"
        )


def _format_size(size: Size) -> str:
    return f"{size[0]}x{size[1]}"


@contextmanager
def _writing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing. At the end, flush the file to disk, so that no later write-back disturbs the
    measurement."""
    try:
        with path.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as cause:
        what = f"decoded frames could not be stored in {path.parent}: {cause.strerror or cause}"
        raise HopmeterError(
            "E-FRAMES-ROOM", what, "free space on that disk, or request fewer or smaller frames"
        ) from cause
