"""Implements the receiver's side of GPU memory sharing. A receiver validates a loan, maps the loaned memory, and
releases this memory when the last object in it is freed."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np

from hopmeter.codecs.cuda import lending, wire
from hopmeter.codecs.cuda.driver import COPY, driver
from hopmeter.codecs.cuda.ledger import Lease
from hopmeter.codecs.cuda.mappings import MAPPINGS, Key
from hopmeter.codecs.errors import CodecError

ALIGN = 64


class Hold:
    """GPU memory that another process owns.

    NumPy treats the GPU memory as an array, but no code may read the memory on the host.
    """

    def __init__(self, place: tuple[int, int, int], lease: Lease, mapping: Key | None, owner: Any = None) -> None:
        self.address, self.size, self.device = place
        self._lease, self._mapping, self._owner = lease, mapping, owner
        self._process, self._open = os.getpid(), True

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, False)}

    def read(self) -> Any:
        """Return a copy of the GPU memory in host memory, aligned to 64 bytes."""
        room = np.empty(self.size + ALIGN, np.uint8)
        start = -room.ctypes.data % ALIGN
        copy = room[start : start + self.size]
        driver().read(self.address, self.device, copy)
        return copy

    def close(self) -> None:
        """Wait until this process no longer uses the memory, then release the memory. Calling `close` again does
        nothing."""
        if not self._open or self._process != os.getpid():
            return
        self._open = False
        with suppress(CodecError):
            driver().settle(self.device)
        if self._mapping is not None:
            MAPPINGS.give_back(self._mapping)
        self._owner = None
        self._lease.close()

    def __del__(self) -> None:
        with suppress(Exception):  # the interpreter may be shutting down
            self.close()


def borrow(frame: Any) -> Hold:
    """Return the GPU memory that a frame refers to. Raises CodecError if this process cannot access the memory."""
    lent = wire.unpack(frame)
    wire.refuse_elsewhere(lent)
    lease = Lease(lent)
    try:
        return _own_memory(lent, lease) if wire.of_this_process(lent) else _map(lent, lease)
    except BaseException:
        lease.close()
        raise


def _own_memory(lent: wire.Lent, lease: Lease) -> Hold:
    """Return memory that this process itself loaned, because a process cannot open its own handles."""
    lender = lending.of_token(lent.token)
    if lender is None:
        raise CodecError("E-GPU-LOAN", "this process does not share this GPU memory")
    array = lender.loaned_array(lent)
    address = int(array.ctypes.data)
    return Hold((address, lent.size, driver().ordinal_of(address)), lease, None, array)


def _map(lent: wire.Lent, lease: Lease) -> Hold:
    device = _device(lent.device)
    mapping, base = MAPPINGS.open(lent.handle, device)
    try:
        first, size = driver().range_of(base, device)
        if not first <= base or base + lent.offset + lent.size > first + size:
            raise CodecError("E-GPU-HANDLE", f"a GPU memory handle exceeds its allocation of {size} bytes")
        return Hold((base + lent.offset, lent.size, device), lease, mapping)
    except BaseException:
        MAPPINGS.give_back(mapping)
        raise


def _device(uuid: bytes) -> int:
    """Return the number by which this process knows the GPU with the given UUID. Raises CodecError if this process does
    not see the GPU."""
    if uuid in driver().uuids:
        return driver().uuids.index(uuid)
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    why = "" if seen is None else f" (CUDA_VISIBLE_DEVICES={seen[:40]})"
    raise CodecError(
        "E-GPU-HIDDEN",
        f"this process does not see the GPU that the memory is on, {uuid.hex()}{why}",
        f"make this GPU visible, or {COPY}",
    )
