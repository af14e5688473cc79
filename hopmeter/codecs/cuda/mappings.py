"""Caches mappings of other processes' allocations.

Each allocation is opened once, reference-counted, and closed when its last user releases it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from hopmeter.codecs.cuda.driver import driver
from hopmeter.codecs.errors import CodecError

Key = tuple[bytes, int, int]
"""A mapping's key: handle, device and process id. The process id is part of the key because a forked child process does
not inherit its parent's mappings."""


@dataclass
class _Mapping:
    base: int
    users: int


class Mappings:
    """Opens each GPU memory handle only once: some drivers reject opening a handle twice, and others count how often a
    handle was opened.

    If a tensor is destroyed while this thread runs `open`, the release of the tensor's memory is queued.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Key, _Mapping] = {}
        self._given_back: deque[Key] = deque()

    def open(self, handle: bytes, device: int) -> tuple[Key, int]:
        """Return the mapping's key, which `give_back` needs, and the address of the mapped memory."""
        key = (handle, device, os.getpid())
        try:
            with self._lock:
                self._close_unused()
                mapping = self._open.get(key)
                if mapping is None:
                    mapping = self._open[key] = _Mapping(driver().open(handle, device), 0)
                mapping.users += 1
                return key, mapping.base
        finally:
            self._tidy()

    def give_back(self, key: Key) -> None:
        """Decrease the reference count of a mapping."""
        self._given_back.append(key)
        self._tidy()

    def __len__(self) -> int:
        return len(self._open)

    def _tidy(self) -> None:
        """Close unused mappings. If another thread is already closing mappings, that thread closes the unused mappings
        too."""
        while self._given_back and self._lock.acquire(blocking=False):
            try:
                self._close_unused()
            finally:
                self._lock.release()

    def _close_unused(self) -> None:
        while self._given_back:
            key = self._given_back.popleft()
            mapping = self._open[key]
            mapping.users -= 1
            if not mapping.users:
                del self._open[key]
                with suppress(CodecError):  # the memory belongs to another process, so a failure cannot be handled
                    driver().close(mapping.base, key[1])


MAPPINGS = Mappings()
