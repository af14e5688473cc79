"""The frame that stands in place of memory: a handle, and what a receiver has to know before it opens one.

docs/codecs.md has the layout. Whatever stands in it may be a lie.
"""

from __future__ import annotations

import functools
import os
import struct
from typing import Any, NamedTuple

from hopmeter.codecs.checks import buffer
from hopmeter.codecs.cuda.driver import COPY
from hopmeter.codecs.errors import CodecError
from hopmeter.system.processes import boot_id, start_ticks

MAGIC = b"HOPG"
VERSION = 1
LAYOUT = struct.Struct("<4sI64s16s16s16sQIIQIIQQQ")


class Lent(NamedTuple):
    """One tensor's memory in another process."""

    handle: bytes
    """CUipcMemHandle of the allocation that it lies in."""
    device: bytes
    """The GPU's UUID; its number depends on who asks."""
    host: bytes
    """The boot of the sender's machine."""
    token: bytes
    """The lender's own, so that nobody takes another's ledger for it."""
    started: int
    """When the sender's process started, in clock ticks since boot."""
    pid: int
    ledger: int
    """The ledger's number among the files of that process."""
    number: int
    """Which loan of its lender it is, from 1."""
    slot: int
    unused: int
    allocation: int
    """Bytes of the allocation."""
    offset: int
    """Where in it the tensor begins."""
    size: int
    """Bytes of the tensor."""


def pack(lent: Lent) -> bytes:
    """Return the frame."""
    return LAYOUT.pack(MAGIC, VERSION, *lent)


def unpack(frame: Any) -> Lent:
    """Parse a frame; raise CodecError for another format, or for memory outside its allocation."""
    data = buffer(frame)
    if data.nbytes != LAYOUT.size:
        raise CodecError(
            "E-FRAME-LENGTH", f"a GPU memory handle takes {LAYOUT.size} bytes, and this frame has {data.nbytes}"
        )
    magic, version, *told = LAYOUT.unpack(data)
    if (magic, version) != (MAGIC, VERSION):
        raise CodecError(
            "E-VERSIONS-DIFFER", "a GPU memory handle of an unknown version", "use one hopmeter at both ends"
        )
    lent = Lent(*told)
    if lent.unused or not lent.number or not lent.size or lent.offset + lent.size > lent.allocation:
        raise CodecError("E-GPU-HANDLE", "a GPU memory handle with impossible values")
    return lent


@functools.cache
def host() -> bytes:
    """Tells this machine, in this boot of it, from all others; 16 bytes."""
    try:
        return bytes.fromhex(boot_id().replace("-", ""))
    except ValueError:
        return b""


def of_this_process(lent: Lent) -> bool:
    """Whether it was lent by this very process, which cannot open its own handles."""
    return lent.pid == os.getpid() and lent.started == start_ticks(lent.pid)


def refuse_elsewhere(lent: Lent) -> None:
    """CodecError where the sender is on another machine, or its process is not to be seen here."""
    if len(host()) != len(lent.host) or lent.host != host():
        raise CodecError(
            "E-GPU-ELSEWHERE", "the GPU memory is on another machine, or in an earlier boot of this one", COPY
        )
    if start_ticks(lent.pid) != lent.started:
        what = f"the sender of this GPU memory, process {lent.pid}, has ended or is in another container"
        raise CodecError("E-GPU-LENDER-GONE", what, f"receive while it runs, or {COPY}")
