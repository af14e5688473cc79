"""Stores a frame in a one-row image: the row's bytes are the frame, header first."""

from __future__ import annotations

import ctypes
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, Fill


def bytes_of(image: Any) -> Any:
    """Return the memory of a one-row image as a borrowed byte array of shape (width,)."""
    return (ctypes.c_ubyte * image.width()).from_address(int(image.getRawImage() or 0))


def write(image: Any, payload_bytes: int, fill: Fill) -> None:
    """Let `fill` write a frame into an image. The image keeps its memory if its size stays the same."""
    size = HEADER_BYTES + payload_bytes
    if image.width() != size:
        image.setQuantum(1)
        image.resize(size, 1)
    fill(bytes_of(image))
