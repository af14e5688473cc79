"""Converts objects to frames and back.

`encode(obj)` returns frames that share the object's memory; `decode(frames)` returns an object that shares the frames'
memory. docs/codecs.md describes the frame format, how each object is encoded, and which objects are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hopmeter.codecs.comparison import comparison_codec, comparison_codecs
from hopmeter.codecs.cuda import lending
from hopmeter.codecs.cuda.lending import Lender
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import codecs as _codecs
from hopmeter.codecs.lookup import install_hint
from hopmeter.codecs.reading import object_of
from hopmeter.codecs.values.records import register
from hopmeter.codecs.writing import frames_by_nodes, frames_of

__all__ = [
    "CodecError",
    "Lender",
    "comparison_codec",
    "comparison_codecs",
    "decode",
    "encode",
    "frameworks",
    "install_hint",
    "register",
]

_RENAMED = {"missing": "install_hint", "named": "comparison_codec", "names": "comparison_codecs"}
"""Old names, which still work in this release, with a DeprecationWarning."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warnings.warn(f"hopmeter.codecs.{name} is now `{_RENAMED[name]}`", DeprecationWarning, stacklevel=2)
        return globals()[_RENAMED[name]]


def encode(obj: Any, share: str | Lender | None = None) -> list[Any]:
    """Return `[header, frame, …]`: the header is bytes; every other frame is a memoryview of the object's memory, or of
    a copy if necessary.

    Do not change the object until the frames have been sent, because they share its memory. With `share="cuda-ipc"` or
    a `Lender`, GPU tensors are sent as handles to receivers on this machine that accept handles; do not change such
    tensors until the receiver has them. Raises CodecError for an object without a codec, such as an array of Python
    objects.
    """
    try:
        return frames_of(obj) if share is None else frames_by_nodes(obj, lending.lender(share))
    except RecursionError as cause:
        raise CodecError(
            "E-NESTED", "the objects are nested too deeply", "flatten them; a cycle cannot be sent"
        ) from cause


def decode(
    frames: Sequence[Any], as_: str | None = None, device: str | None = None, share: str | Lender | None = None
) -> Any:
    """Return the object that was encoded, in the memory of `frames` if its framework can share memory.

    `as_` requests another framework (`"torch"` for a NumPy array), and `device` a device (`"cpu"`, `"cuda:0"`; by
    default the sender's kind of device, or the CPU if this machine has none). Frames may be any objects that support
    the buffer protocol. In read-only memory, an array is read-only; objects of frameworks that have no read-only
    objects are copied. Handles of GPU memory are opened only with `share="cuda-ipc"`. Raises only CodecError, even for
    damaged or hostile frames.
    """
    return object_of(frames, as_, device, share is not None and bool(lending.takes_handles(share)))


def frameworks() -> list[str]:
    """Return the names of all codecs. `install_hint(name)` explains how to install a missing framework."""
    return list(_codecs())
