"""Objects to frames and back: `encode(obj)` gives frames that lie in the object's own memory, `decode(frames)` an
object that lies in the memory of the frames. docs/codecs.md tells what travels, how, and what is refused.
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
from hopmeter.codecs.records import register
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
"""Names of the release before, which still work in this one."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warnings.warn(f"hopmeter.codecs.{name} is now `{_RENAMED[name]}`", DeprecationWarning, stacklevel=2)
        return globals()[_RENAMED[name]]


def encode(obj: Any, share: str | Lender | None = None) -> list[Any]:
    """`[header, frame, …]`: the header is bytes, every other frame a memoryview of bytes, not copied where it can be.

    The frames are the object's memory: leave it alone until they have been sent. `share="cuda-ipc"`, or a `Lender`,
    sends handles of the tensors that are on a GPU, for receivers on this machine that ask for them; leave those alone
    until they are received (never run on a GPU). Raises CodecError for an object that has no codec, such as an array
    of Python objects.
    """
    try:
        return frames_of(obj) if share is None else frames_by_nodes(obj, lending.lender(share))
    except RecursionError as cause:
        raise CodecError("E-NESTED", "objects nested too deep", "flatten them; a cycle cannot be sent") from cause


def decode(
    frames: Sequence[Any], as_: str | None = None, device: str | None = None, share: str | Lender | None = None
) -> Any:
    """Return the object that was encoded, in the memory of `frames` if its framework can share that.

    `as_` asks for another framework (`"torch"` for an array that was NumPy's), `device` for a place (`"cpu"`,
    `"cuda:0"`; without it where it was, or the CPU where there is no such device). Frames may be anything with the
    buffer protocol; in read-only memory an array is read-only, and what must be writable is copied. Handles of
    GPU memory are opened only with `share="cuda-ipc"`. Raises CodecError, and nothing else, for frames that are damaged
    or hostile.
    """
    return object_of(frames, as_, device, share is not None and bool(lending.takes_handles(share)))


def frameworks() -> list[str]:
    """Return the names of all codecs. `install_hint(name)` says whether a codec's framework is installed."""
    return list(_codecs())
