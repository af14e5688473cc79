"""Helpers of the codec tests: copy frames in the way that a receiver gets frames, and check which memory was copied."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

from hopmeter.codecs import decode, encode, install_hint


def align(data: Any) -> memoryview:
    size = memoryview(data).nbytes
    room = np.empty(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    view = room.data[start : start + size]
    view[:] = memoryview(data).cast("B") if size else b""
    return view


def copy_frames(frames: list[Any]) -> list[memoryview]:
    """Copy the frames into new memory that shares nothing with the sender."""
    return [align(frame) for frame in frames]


def carry(obj: Any, **asked: Any) -> Any:
    """Return the object as another program would receive it."""
    return decode(copy_frames(encode(obj)), **asked)


def addresses(frames: list[Any]) -> list[tuple[int, int]]:
    arrays = [np.frombuffer(frame, np.uint8) for frame in frames[1:]]
    return [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays]


def lies_in(address: int, frames: list[Any]) -> bool:
    return any(start <= address < end for start, end in addresses(frames))


def framework(name: str) -> None:
    """Skip the module if a framework is not installed, and name the installation command."""
    without = install_hint(name)
    if without:
        pytest.skip(without, allow_module_level=True)


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def before_tensorflow() -> None:
    """Import Paddle (if installed) before TensorFlow, because importing Paddle after TensorFlow crashes."""
    if is_installed("paddle"):
        importlib.import_module("paddle")


def open_handles(frames: list[Any], as_: str | None = "lent", **asked: Any) -> Any:
    """Return the object `t` of frames that are GPU memory handles."""
    return decode(copy_frames(frames), as_, share="cuda-ipc", **asked)["t"]
