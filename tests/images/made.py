"""Create images and videos with known pixels in common formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

Pixels = np.ndarray[Any, np.dtype[np.uint8]]
"""An array of height x width x 3 for one frame, with an additional first axis for several frames."""


def pixels(frames: int = 5, height: int = 6, width: int = 10) -> Pixels:
    """Return noise, so that all frames, rows, pixels and channels differ. A row of 30 bytes tests the padding of
    decoders."""
    return np.random.default_rng(7).integers(0, 256, (frames, height, width, 3), dtype=np.uint8)


def image(path: Path, shown: Pixels) -> Path:
    """Write an image with these pixels; the file extension selects the format."""
    Image.fromarray(shown).save(path)
    return path


def video(
    path: Path, shown: Sequence[Pixels] | Pixels, codec: str = "ffv1", held: str = "bgr0", **options: str
) -> Path:
    """Write a video of these frames; `ffv1` and `png` are lossless. `options` are the container's options."""
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream(codec, rate=25)
        stream.height, stream.width = shown[0].shape[:2]
        stream.pix_fmt = held
        for each in shown:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(each, format="rgb24").reformat(format=held)))
        container.mux(stream.encode())
    return path


def sound(path: Path) -> Path:
    """Write a file with sound and without video."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
