"""Adapts the ring of ../rust, through its C ABI, to hopmeter's contract; ../README.md describes it."""

from __future__ import annotations

import threading

from hopmeter.node.contract import HEADER_BYTES, Link, Setup, Take

from . import ring

NAP_S = 1.0
"""How long a called end sleeps at most; closing wakes it earlier."""


class Subscriber:
    """A polled subscriber; sleeps in the ring if it blocks."""

    def __init__(self, consumer: ring.Consumer, sleeps: bool, slots: int) -> None:
        self._consumer = consumer
        self._sleeps = sleeps
        self._at_once = slots  # so that a poll ends even if the sender is faster

    def poll(self, timeout_s: float, take: Take) -> int:
        count = self._consumer.drain(self._at_once, take)
        if count or not self._sleeps:
            return count
        return self._consumer.wait(timeout_s, take)

    def close(self) -> None:
        self._consumer.close()


class Subscription:
    """A thread that sleeps in the ring and calls."""

    def __init__(self, consumer: ring.Consumer, on_frame: Take) -> None:
        self._consumer = consumer
        self._on_frame = on_frame
        self._over = False
        self._thread = threading.Thread(target=self._run, name="shm-callback", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            if not self._consumer.drain(1, self._on_frame):
                self._consumer.wait(NAP_S, self._on_frame)

    def close(self) -> None:
        self._over = True
        self._consumer.interrupt()
        self._thread.join()
        self._consumer.close()


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._slots = int(setup.settings["slots"])
        self._sleeps = setup.wait != "spin"

    @staticmethod
    def version() -> str:
        return ring.version()

    def publisher(self, link: Link) -> ring.Producer:
        payload_bytes = self._setup.frame_bytes - HEADER_BYTES
        return ring.Producer(link.name, self._slots, payload_bytes, self._setup.settings["when_full"] == "drop_oldest")

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(ring.Consumer(link.address, link.name, self._sleeps), self._sleeps, self._slots)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(ring.Consumer(link.address, link.name, True), on_frame)

    def facts(self) -> dict[str, str]:
        return {"path": "shared memory (memfd)"}

    def close(self) -> None:
        """Release nothing: the ends own everything."""
