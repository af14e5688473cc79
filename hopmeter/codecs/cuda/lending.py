"""Implements the sender's side of GPU memory sharing: keeps loaned tensors alive for their receivers."""

from __future__ import annotations

import functools
import logging
import os
import threading
import weakref
from collections import Counter
from typing import Any

from hopmeter.codecs.cuda import wire
from hopmeter.codecs.cuda.driver import driver
from hopmeter.codecs.cuda.ledger import Ledger
from hopmeter.codecs.errors import CodecError
from hopmeter.system.processes import start_ticks

KEPT = 16
MOST = 4096
SHARE = "cuda-ipc"
"""The value of the argument `share` of `encode`, `decode` and `connect` that enables GPU memory handles."""
log = logging.getLogger("hopmeter.codecs")


class Lender:
    """Loans GPU tensors to receivers on the same machine, and keeps the newest `kept` tensors alive.

    A tensor also stays alive while a receiver holds it. If receivers hold all slots, the next tensor is copied through
    the host. `close` releases all tensors, including tensors that receivers still hold.
    """

    def __init__(self, kept: int = KEPT) -> None:
        if not 1 <= kept <= MOST:
            raise CodecError("E-VALUE-RANGE", f"a lender cannot retain {kept} tensors", f"let it retain 1 to {MOST}")
        self.copied: Counter[str] = Counter()
        """The number of tensors that were copied through the host despite a request for handles, by reason."""
        self._lock = threading.Lock()
        self._loans: list[tuple[int, Any]] = [(0, None)] * kept
        """Each slot's loan number and array. The array only keeps the memory alive; no code may read the array."""
        self._newest = 0
        self._ledger: Ledger | None = Ledger(kept)
        self._process = (os.getpid(), start_ticks(os.getpid()) or 0)
        _lenders[self._ledger.token] = self

    @property
    def next(self) -> int:
        """Return the number that the lender will give to its next loan."""
        return self._newest + 1

    @property
    def held(self) -> int:
        """Return the number of loans that receivers currently hold."""
        with self._lock:
            ledger = self._ledger
            return 0 if ledger is None else sum(ledger.held(slot) for slot in range(len(self._loans)))

    def lend(self, array: Any, since: int) -> bytes:
        """Return a frame with the handle of GPU memory, after all GPU work on that memory has finished.

        `array` has the memory's address and size, and keeps the memory alive. Loans numbered `since` or higher belong
        to the same message as the new loan, and are not replaced. Raises CodecError if the memory cannot be loaned.
        """
        if self._process[0] != os.getpid():
            raise CodecError("E-GPU-NOT-LENDABLE", "a forked process cannot use the GPU of its parent")
        gpu, address = driver(), int(array.ctypes.data)
        ordinal = gpu.ordinal_of(address)
        if not gpu.is_exportable(address):
            raise CodecError(
                "E-GPU-NOT-LENDABLE",
                "this memory is not from cudaMalloc (it is managed, from cudaMallocAsync, in an expandable segment, or"
                " of JAX 0.11 or newer)",
            )
        base, allocation = gpu.range_of(address, ordinal)
        handle = gpu.export(base, ordinal)
        gpu.settle(ordinal)
        number, slot, ledger = self._claim_slot(array, since)
        place = (number, slot, 0, allocation, address - base, array.nbytes)
        pid, started = self._process
        return wire.pack(
            wire.Lent(handle, gpu.uuids[ordinal], wire.host(), ledger.token, started, pid, ledger.file, *place)
        )

    def _claim_slot(self, array: Any, since: int) -> tuple[int, int, Ledger]:
        """Return a new loan's number and slot, and the ledger.

        The new loan replaces the oldest loan that no receiver holds. Raises CodecError if receivers hold all loans.
        """
        with self._lock:
            if self._ledger is None:
                raise CodecError("E-CLOSED", "this lender is closed", "open another")
            for slot in sorted(range(len(self._loans)), key=lambda slot: self._loans[slot][0]):
                if self._loans[slot][0] >= since:
                    raise CodecError(
                        "E-GPU-LOANS",
                        f"one message has more tensors than the lender has free slots ({len(self._loans)} in all)",
                    )
                if self._ledger.enter(slot, self._newest + 1):
                    self._newest += 1
                    self._loans[slot] = (self._newest, array)
                    return self._newest, slot, self._ledger
            raise CodecError("E-GPU-LOANS", f"receivers hold all {len(self._loans)} tensors of this lender")

    def loaned_array(self, lent: wire.Lent) -> Any:
        """Return a loan's array, for a receiver in this process. Raises CodecError if the loan does not exist."""
        with self._lock:
            number, array = self._loans[lent.slot] if lent.slot < len(self._loans) else (0, None)
        if number != lent.number or array is None or array.nbytes != lent.size:
            raise CodecError("E-GPU-LOAN", "this process does not share this GPU memory")
        return array

    def copy(self, reason: str) -> None:
        """Add one to the number of tensors that are copied instead of loaned. Each reason is logged once."""
        self.copied[reason] += 1
        if self.copied[reason] == 1:
            log.warning("a tensor is copied through the host: %s", reason)

    def close(self) -> None:
        """Release all loans. The memory of loans that receivers still hold may change after this call. Calling `close`
        again does nothing."""
        if held := self.held:
            log.warning("a lender closes while receivers hold %d of its tensors; their memory may change", held)
        with self._lock:
            ledger, self._ledger, loans = self._ledger, None, self._loans
            self._loans = [(0, None)] * len(loans)
            if ledger is not None:
                ledger.close()


_lenders: weakref.WeakValueDictionary[bytes, Lender] = weakref.WeakValueDictionary()


def of_token(token: bytes) -> Lender | None:
    """Return the lender of this process that has the given token, or None."""
    return _lenders.get(token)


def lender(share: Any) -> Lender:
    """Return `share` itself if it is a lender, or this process's default lender for `cuda-ipc`."""
    return share if isinstance(share, Lender) else _process_lender(check_share(share), os.getpid())


def takes_handles(share: Any) -> bool:
    """Return whether a receiver accepts memory handles if its option `share` has the given value.

    If `share` is a lender, the function returns True, although only senders need a lender.
    """
    return isinstance(share, Lender) or bool(check_share(share))


def check_share(share: Any) -> str:
    """Return `share` if it is a valid value. Raises CodecError for an invalid value."""
    if share != SHARE:
        raise CodecError("E-VALUE-CHOICE", f"share {share!r:.40} is unknown", f'use share="{SHARE}", or omit share')
    return SHARE


@functools.cache
def _process_lender(share: str, pid: int) -> Lender:  # noqa: ARG001 (a forked child process needs a lender of its own)
    return Lender()
