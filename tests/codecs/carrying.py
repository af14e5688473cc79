"""What the tests of all codecs share: frames as they arrive elsewhere, and what was or was not copied."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

from hopmeter.codecs import decode, encode, install_hint


def align(data: Any) -> memoryview:
    """A copy in writable memory that begins at a multiple of 64 bytes, as a receive buffer does."""
    size = memoryview(data).nbytes
    room = np.empty(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    view = room.data[start : start + size]
    view[:] = memoryview(data).cast("B") if size else b""
    return view


def copy_frames(frames: list[Any]) -> list[memoryview]:
    """The frames in memory of their own: nothing of the sender is left."""
    return [align(frame) for frame in frames]


def carry(obj: Any, **asked: Any) -> Any:
    """The object after its way to another program."""
    return decode(copy_frames(encode(obj)), **asked)


def addresses(frames: list[Any]) -> list[tuple[int, int]]:
    """Where each frame but the header lies: first address, and the one behind the last byte."""
    arrays = [np.frombuffer(frame, np.uint8) for frame in frames[1:]]
    return [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays]


def lies_in(address: int, frames: list[Any]) -> bool:
    """Whether an address belongs to one of the frames."""
    return any(start <= address < end for start, end in addresses(frames))


def framework(name: str) -> None:
    """Skips the module, with the command that helps, where a framework is not installed."""
    without = install_hint(name)
    if without:
        pytest.skip(without, allow_module_level=True)


def is_installed(package: str) -> bool:
    """Whether a package could be imported; it is not."""
    return importlib.util.find_spec(package) is not None


def before_tensorflow() -> None:
    """Imports Paddle where it is installed: after TensorFlow it would crash."""
    if is_installed("paddle"):
        importlib.import_module("paddle")


def open_handles(frames: list[Any], as_: str | None = "lent", **asked: Any) -> Any:
    """What is called `t` in an object whose frames are handles of GPU memory."""
    return decode(copy_frames(frames), as_, share="cuda-ipc", **asked)["t"]
