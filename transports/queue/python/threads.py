"""The kinds `queue.Queue` and `queue.SimpleQueue`, which pass object references between threads."""

from __future__ import annotations

import queue
import threading
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Setup

from ..._multiprocessing.python.ends import Subscriber
from ..._multiprocessing.python.publishing import waiting_limit

AnyQueue = queue.Queue[Any] | queue.SimpleQueue[Any]


class Channels:
    """The links of this process; each link has one queue per receiver."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._queues: dict[str, list[AnyQueue]] = {}
        self._lock = threading.Lock()

    def open_link(self, link: Link) -> list[AnyQueue]:
        with self._lock:
            return self._queues.setdefault(link.name, [])

    def join_link(self, link: Link) -> tuple[list[AnyQueue], AnyQueue]:
        with self._lock:
            if link.name not in self._queues:
                kind = self._setup.settings["kind"]
                remedy = "use --placement thread, or one of multiprocessing's kinds: pipe, queue, shared_memory"
                raise AdapterError(
                    f"kind = {kind} works only within one process, but the sender is in another process", remedy
                )
            mine = self._new()
            self._queues[link.name].append(mine)
            return self._queues[link.name], mine

    def _new(self) -> AnyQueue:
        if self._setup.settings["kind"] == "thread_simple_queue":
            return queue.SimpleQueue()
        return queue.Queue(self._setup.settings["maxsize"])

    def forget(self, link: Link) -> None:
        with self._lock:
            del self._queues[link.name]


class ThreadPublisher:
    """Sends a new object for each message, because receivers may retain the object."""

    address = ""

    def __init__(self, setup: Setup, link: Link, channels: Channels) -> None:
        self._link, self._channels = link, channels
        self._queues = channels.open_link(link)
        maxsize = setup.settings["maxsize"] if setup.settings["kind"] == "thread_queue" else 0
        self._limit = min(maxsize or waiting_limit(link), waiting_limit(link))

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self._is_full():
            return False
        message = bytearray(HEADER_BYTES + payload_bytes)
        fill(message)
        return self._put(message)

    def forward(self, native: bytearray) -> bool:
        return not self._is_full() and self._put(native)

    def _is_full(self) -> bool:
        return any(each.qsize() >= self._limit for each in self._queues)

    def _put(self, message: bytearray) -> bool:
        for each in tuple(self._queues):
            each.put(message)
        return True

    def close(self) -> None:
        self._channels.forget(self._link)


class ThreadSubscriber(Subscriber):
    def __init__(self, _setup: Setup, link: Link, channels: Channels) -> None:
        super().__init__(link.wait == "spin")
        self._all, self._queue = channels.join_link(link)

    def close(self) -> None:
        super().close()
        self._all.remove(self._queue)
