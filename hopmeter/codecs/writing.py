"""Converts objects to header nodes.

Each header node is JSON text from the start, so that the text of a repeated node can be cached.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from hopmeter.codecs import header
from hopmeter.codecs.conversions import conversion
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import by_root, codecs

Frames = list[Any]
"""The list of frames: a placeholder for the header, followed by the object's memory as memoryviews of bytes."""
Writer = Callable[[Any, Frames, int], str]

KEPT = 1024
"""The maximum number of cached headers. If the cache is full, all its headers are removed."""
KEPT_BODY_BYTES = 16384

_writers: dict[type, Writer] = {}
_whole: dict[type, Callable[[Any], Frames]] = {}
_headers: dict[str, bytes] = {}


def frames_of(obj: Any) -> Frames:
    """Convert an object that has a codec to the list of frames `[header, memory, …]`."""
    whole = _whole.get(type(obj))
    return whole(obj) if whole else frames_by_nodes(obj)


class Lending(list[Any]):
    """A list of frames that may contain GPU memory handles instead of copies."""

    def __init__(self, lender: Any) -> None:
        super().__init__([None])
        self.lender, self.since, self.flags = lender, lender.next, 0


def frames_by_nodes(obj: Any, lender: Any = None) -> Frames:
    """Return the header frame and all memory frames of an object. If a lender (`cuda.lending.Lender`) is given, GPU
    tensors are sent as handles."""
    frames: Frames = [None] if lender is None else Lending(lender)
    body = (_writers.get(type(obj)) or writer_of(type(obj)))(obj, frames, 0)
    frames[0] = _headers.get(body) or _header(body, len(frames) - 1, getattr(frames, "flags", 0))
    return frames


def node_of(obj: Any, frames: Frames, depth: int) -> str:
    """Append the memory of a nested object to `frames`, and return the object's header node as JSON text.

    `depth` is the nesting depth of the enclosing object.
    """
    if depth >= header.MAX_DEPTH:
        raise CodecError(
            "E-NESTED",
            f"the objects are nested deeper than {header.MAX_DEPTH} levels",
            "flatten them; a cycle cannot be sent",
        )
    return (_writers.get(type(obj)) or writer_of(type(obj)))(obj, frames, depth + 1)


def writer_of(kind: type) -> Writer:
    """Return the function that writes objects of a type.

    The function comes from the codec of the package that defines the type or one of its base classes. Raises CodecError
    if no codec supports the type.
    """
    for base in kind.__mro__[:-1]:
        codec = by_root().get(base.__module__.partition(".")[0])
        if codec is None and dataclasses.is_dataclass(base):
            codec = codecs()["plain"]
        if codec is not None:
            writer: Writer = getattr(codec, "WRITERS", {}).get(kind, codec.write)
            whole = getattr(codec, "WHOLE", {})
            _whole.update(whole() if callable(whole) else whole)
            return _writers.setdefault(kind, writer)
    raise CodecError("E-NO-CODEC", f"no codec for {kind.__module__}.{kind.__qualname__}", conversion(kind))


def refusal(obj: Any, remedy: str = "") -> CodecError:
    """Return the error for an object that its framework's codec cannot represent."""
    kind = type(obj)
    return CodecError("E-NO-CODEC", f"no codec for {kind.__module__}.{kind.__qualname__}", remedy)


def part_node(obj: Any, frames: Frames, depth: int, step: str) -> str:
    """Return the header node of an object's part, such as an attribute. If the part cannot be encoded, the CodecError
    names the step from the object to the part, such as `.attrs`."""
    try:
        return node_of(obj, frames, depth)
    except CodecError as error:
        error.within(step)
        raise


def _header(body: str, frames: int, flags: int) -> bytes:
    packed = header.pack(body, frames, flags)
    if len(packed) <= KEPT_BODY_BYTES:
        if len(_headers) >= KEPT:
            _headers.clear()
        _headers[body] = packed
    return packed
