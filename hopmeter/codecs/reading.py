"""Converts frames to objects.

Each header is validated and compiled to a function that builds the object. The compiled function is cached for
identical headers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.codecs import devices, header
from hopmeter.codecs.errors import ENDING, CodecError
from hopmeter.codecs.lookup import codec_named, readers

Maker = Callable[[Sequence[Any]], Any]
"""A function that builds the object from all frames, including the header."""

KEPT = 256
KEPT_BYTES = 4 * 2**20
"""The maximum total size of all cached headers, in bytes. The header of a data frame with a thousand columns takes a
few hundred KiB."""
KEPT_HEADER_BYTES = KEPT_BYTES // 16
FREE_ROWS = 2**20
"""The maximum number of rows that occupy no memory in the frames. Each byte in the frames raises this maximum by one
row."""

_plans: dict[Any, tuple[int, Maker]] = {}
_held: dict[Any, int] = {}
"""The length of each cached header in bytes."""


@dataclass
class Reading:
    """The state while a header is compiled to a function."""

    as_: str | None = None
    """The framework that the receiver requests. None stands for the sender's framework."""
    device: str | None = None
    """The device that the receiver requests for tensors. None stands for the sender's kind of device."""
    share: bool = False
    """Whether the receiver accepts GPU memory handles."""
    flags: int = 0
    """The flags of the header."""
    taken: int = 0
    depth: int = 0
    free: int = 0
    """The number of rows that only the header declares. Such rows are Arrow nulls and, if `dense` is set, the numbers
    of pandas ranges."""
    dense: bool = False
    """Whether the enclosing object stores every number of a pandas range."""

    def frame(self) -> int:
        """Reserve the next frame for a part of the object, and return the frame's position among all frames."""
        self.taken += 1
        return self.taken

    def maker(self, node: Any) -> Maker:
        """Return a function that builds the object that a header node describes."""
        if type(node) is not list:
            return _constant_maker(node)
        reader = readers().get(node[0]) if node and type(node[0]) is str else None
        if reader is None:
            raise CodecError(
                "E-VERSIONS-DIFFER",
                "the header has an unknown kind of node",
                "use the same version of hopmeter on both sides",
            )
        if self.depth > header.MAX_DEPTH:
            raise CodecError("E-NESTED", f"the objects are nested deeper than {header.MAX_DEPTH} levels")
        self.depth += 1
        made: Maker = reader(node, self)
        self.depth -= 1
        return made

    def inner(self, node: Any, own: str) -> Maker:
        """Return a function that builds a part of an object.

        If the receiver requests the framework of the whole object (`own`), the part keeps the sender's framework.
        """
        asked = self.as_
        if asked == own:
            self.as_ = None
        made = self.maker(node)
        self.as_ = asked
        return made


def object_of(frames: Sequence[Any], as_: str | None, device: str | None, share: bool = False) -> Any:
    """Return the decoded object. The object uses the memory of `frames` if its framework allows shared memory.

    Raises CodecError if the frames are invalid.
    """
    try:
        head = frames[0]
        if type(head) is not bytes:
            head = memoryview(head).tobytes()
        key = head if as_ is device is None and not share else (head, as_, device, share)
        count, make = _plans.get(key) or _plan(key, head, as_, device, share)
        if len(frames) != count:
            raise CodecError("E-FRAME-COUNT", f"{len(frames)} frames arrived, but the header announces {count}")
        return make(frames)
    except (CodecError, *ENDING):
        raise
    except MemoryError as cause:
        raise CodecError("E-NO-MEMORY", "not enough memory for the content of the frames") from cause
    except BaseException as cause:
        raise CodecError("E-UNDECODABLE", f"these frames cannot be decoded: {cause}") from cause


def forget() -> None:
    """Clear the cache of compiled headers, because a newly registered class changes how headers are decoded."""
    _plans.clear()
    _held.clear()


def _plan(key: Any, head: bytes, as_: str | None, device: str | None, share: bool) -> tuple[int, Maker]:
    node, announced, flags = header.unpack(head)
    if as_ is not None:
        as_ = codec_named(as_).__name__.rpartition(".")[2]
    if device is not None:
        devices.check_device(device)
    reading = Reading(as_, device, share, flags)
    make = reading.maker(node)
    if reading.taken != announced:
        raise CodecError("E-FRAME-COUNT", f"the header announces {announced} frames, but describes {reading.taken}")
    if reading.free > FREE_ROWS:
        make = _row_checking_maker(make, reading.free)
    if len(head) <= KEPT_HEADER_BYTES:
        if len(_plans) >= KEPT or sum(_held.values()) + len(head) > KEPT_BYTES:
            forget()
        _plans[key], _held[key] = (announced + 1, make), len(head)
    return announced + 1, make


def _row_checking_maker(make: Maker, rows: int) -> Maker:
    def build(frames: Sequence[Any]) -> Any:
        if rows > FREE_ROWS + sum(memoryview(frame).nbytes for frame in frames):
            raise CodecError("E-ROWS", f"no frame contains the {rows} rows", "remove columns without data")
        return make(frames)

    return build


def _constant_maker(value: Any) -> Maker:
    if type(value) is dict:
        raise CodecError(
            "E-VERSIONS-DIFFER",
            "the header has an unknown kind of node",
            "use the same version of hopmeter on both sides",
        )
    return lambda _: value
