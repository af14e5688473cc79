"""Defines the frame that is sent in place of a tensor's GPU memory. The frame contains a CUDA memory handle, and values
that the receiver checks before it opens the handle.

docs/codecs.md describes the layout of the frame. A receiver must not trust any value in the frame.
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
    """Describes a tensor's memory in another process."""

    handle: bytes
    """The CUipcMemHandle of the tensor's allocation."""
    device: bytes
    """The GPU's UUID, because a GPU's number may differ between processes."""
    host: bytes
    """The boot id of the sender's machine."""
    token: bytes
    """The token of the lender's ledger. The token distinguishes the ledger from any other file."""
    started: int
    """The start time of the sender's process, in clock ticks since boot."""
    pid: int
    ledger: int
    """The file descriptor of the ledger in the sender's process."""
    number: int
    """The lender's number for the loan, counted from 1."""
    slot: int
    unused: int
    allocation: int
    """The size of the allocation in bytes."""
    offset: int
    """The offset of the tensor in the allocation, in bytes."""
    size: int
    """The size of the tensor in bytes."""


def pack(lent: Lent) -> bytes:
    """Return the frame for a tensor's memory."""
    return LAYOUT.pack(MAGIC, VERSION, *lent)


def unpack(frame: Any) -> Lent:
    """Parse a frame that describes a tensor's memory. Raises CodecError if the frame's format is unknown, or if the
    tensor exceeds its allocation."""
    data = buffer(frame)
    if data.nbytes != LAYOUT.size:
        raise CodecError(
            "E-FRAME-LENGTH", f"a GPU memory handle takes {LAYOUT.size} bytes, but this frame has {data.nbytes}"
        )
    magic, version, *told = LAYOUT.unpack(data)
    if (magic, version) != (MAGIC, VERSION):
        raise CodecError(
            "E-VERSIONS-DIFFER",
            "the GPU memory handle has an unknown version",
            "use the same version of hopmeter on both sides",
        )
    lent = Lent(*told)
    if lent.unused or not lent.number or not lent.size or lent.offset + lent.size > lent.allocation:
        raise CodecError("E-GPU-HANDLE", "the GPU memory handle has impossible values")
    return lent


@functools.cache
def host() -> bytes:
    """Return 16 bytes that identify this machine and its current boot, or empty bytes if the machine or the boot is
    unknown."""
    try:
        return bytes.fromhex(boot_id().replace("-", ""))
    except ValueError:
        return b""


def of_this_process(lent: Lent) -> bool:
    """Return whether this process itself is the lender of the memory. A process cannot open its own memory handles."""
    return lent.pid == os.getpid() and lent.started == start_ticks(lent.pid)


def refuse_elsewhere(lent: Lent) -> None:
    """Raise CodecError if the sender is on a different machine, or if this process cannot see the sender's process."""
    if len(host()) != len(lent.host) or lent.host != host():
        raise CodecError(
            "E-GPU-ELSEWHERE", "the GPU memory is on another machine, or in an earlier boot of this one", COPY
        )
    if start_ticks(lent.pid) != lent.started:
        what = f"the sender of this GPU memory, process {lent.pid}, has ended or is in another container"
        raise CodecError("E-GPU-LENDER-GONE", what, f"receive while it runs, or {COPY}")
