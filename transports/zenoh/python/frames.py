"""Converts frames to zenoh's bytes and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import zenoh

from hopmeter.node.contract import HEADER_BYTES, Fill, Link, Setup

LENT_FRAMES = 16
LEAST_BYTES = 1 << 20


class Frames:
    """The memory in which frames are written before they are sent. zenoh copies frames from this memory, because its
    Python API does not loan memory."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self._frame = bytearray()
        pool_bytes = max(LENT_FRAMES * link.frame_bytes, LEAST_BYTES)
        loans = setup.settings["shared_memory"] == "loan"
        self._provider = zenoh.shm.ShmProvider.default_backend(pool_bytes) if loans else None

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Return the bytes for zenoh to send, or None if all of zenoh's shared memory is in use."""
        length = HEADER_BYTES + payload_bytes
        if len(self._frame) != length:
            self._frame = bytearray(length)
        if self._provider is None:
            fill(self._frame)
            return self._frame
        try:
            shared = self._provider.alloc(length, zenoh.shm.GarbageCollect())
        except zenoh.ZError:
            return None
        fill(self._frame)
        shared[:] = self._frame
        return shared


COPIED_FROM_BYTES = 3072
"""The minimum size of the messages that zenoh itself copies into shared memory, if the settings allow it."""


class Arrivals:
    """Counts the received frames, and the frames that came through shared memory, to prove that shared memory is
    used."""

    def __init__(self, shared_memory: str) -> None:
        self._counts = shared_memory != "off"
        self._frames = self._shared = 0

    def deliver(self, message: zenoh.ZBytes | None, hand_over: Callable[..., None]) -> int:
        """Pass a message on; the Python API copies the bytes of the message. An empty message only wakes the receiver,
        and is not passed on."""
        if not message:
            return 0
        self._frames += 1
        if self._counts:
            self._shared += message.as_shm() is not None
        hand_over(message.to_bytes(), native=message)
        return 1

    def facts(self, way: str, expected: bool) -> dict[str, str]:
        """Return how the received frames travelled, and any difference from the settings. The first few frames do not
        use shared memory, because they arrive before both sides know each other's shared memory."""
        if not self._frames:
            return {}
        if not self._counts:
            return {"path": way}
        counted = f"shared memory for {self._shared} of {self._frames} frames received"
        fell_back = expected and self._shared * 2 < self._frames
        return {"path": f"{counted}, {way}", **({"fallback": counted} if fell_back else {})}
