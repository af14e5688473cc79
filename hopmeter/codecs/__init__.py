"""Converts objects to frames and back.

`encode(obj)` returns frames that share the object's memory. `decode(frames)` returns an object that shares the frames'
memory. docs/codecs.md describes the frame format and the supported objects.
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
"""Maps deprecated names to current names. The deprecated names still work in this release, with a
DeprecationWarning."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warnings.warn(f"hopmeter.codecs.{name} is now `{_RENAMED[name]}`", DeprecationWarning, stacklevel=2)
        return globals()[_RENAMED[name]]


def encode(obj: Any, share: str | Lender | None = None) -> list[Any]:
    """Return `[header, frame, …]`, where the header is bytes and every other frame is a memoryview.

    The frames share the object's memory if possible, so do not change the object until the frames have been sent. With
    `share="cuda-ipc"` or a `Lender`, GPU tensors are sent as handles, which only receivers on this machine can open. Do
    not change a tensor that is sent as a handle until the receiver has received the tensor. Raises CodecError if no
    codec supports the object, for example an array of Python objects.
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
    """Return the decoded object, which shares the memory of `frames` if the object's framework can use memory that it
    did not allocate.

    `as_` requests another framework, such as `"torch"` for a NumPy array. `device` requests a device, such as `"cpu"`
    or `"cuda:0"`; the default is the sender's kind of device. If this machine has no device of the sender's kind, the
    default is the CPU. Frames may be any objects that support the buffer protocol. If the frames are read-only, arrays
    are read-only too, or copied if their framework has no read-only arrays. GPU memory handles are opened only with
    `share="cuda-ipc"`. Raises no error other than CodecError, even for corrupted or malicious frames.
    """
    return object_of(frames, as_, device, share is not None and bool(lending.takes_handles(share)))


def frameworks() -> list[str]:
    """Return the names of all codecs."""
    return list(_codecs())
