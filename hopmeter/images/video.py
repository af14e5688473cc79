"""Reads videos with PyAV (FFmpeg)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hopmeter.images.frame import Frame, library
from hopmeter.images.source import PictureError, Size

STRICT = {"err_detect": "explode"}
"""The FFmpeg options that make decoding strict. By default, FFmpeg would guess the content of corrupted frames."""
REMEDY = "choose a video that FFmpeg decodes, such as H.264 in MP4; `ffprobe` shows the error in this file"


def frames(file: Path, size: Size | None) -> Iterator[Frame]:
    """Yield the frames of a video in order. If a size is given, the frames are resized with bicubic interpolation."""
    av = library("av", "PyAV", "video", file)
    try:
        with av.open(str(file), options=STRICT) as container:
            if not container.streams.video:
                raise PictureError("E-NO-FRAMES", f"{file} contains no video", "choose another file")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            stream.codec_context.options = STRICT
            for frame in _whole(container.demux(stream), stream, file):
                yield _rgb(frame, size, stream.codec_context.name)
    except (av.FFmpegError, OSError) as cause:
        raise PictureError(
            "E-NOT-DECODABLE", f"{file} cannot be decoded as a video: {cause.strerror or cause}", REMEDY
        ) from cause


def _whole(packets: Iterator[Any], stream: Any, file: Path) -> Iterator[Any]:
    """Yield the frames of a video.

    Raises PictureError if a frame is corrupted, or if the video has fewer frames than its file header announces.
    """
    found, shown = 0, 0
    for packet in packets:
        found += packet.size > 0
        for frame in packet.decode():
            if frame.is_corrupt:
                raise PictureError("E-NOT-DECODABLE", f"frame {shown} of {file} is damaged", REMEDY)
            shown += 1
            yield frame
    if found < stream.frames:
        raise PictureError(
            "E-NOT-DECODABLE", f"{file} is cut off: it ends with frame {found} of {stream.frames}", REMEDY
        )


def _rgb(frame: Any, size: Size | None, codec: str) -> Frame:
    own_size = frame.width, frame.height
    width, height = size or own_size
    pixels = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="BICUBIC")
    return Frame(pixels.tobytes(), (width, height), own_size, codec)
