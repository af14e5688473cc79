"""The adapter for the message queues of Python's standard library; ../README.md describes kinds and wire formats."""

from __future__ import annotations

import platform
from typing import Any

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import AdapterError, Link, Setup

from ..._multiprocessing.python.piped import PipePublisher, PipeSubscriber
from ..._multiprocessing.python.segments import SegmentPublisher, SegmentSubscriber
from .queues import QueuePublisher, QueueSubscriber, SimpleQueueSubscriber
from .threads import Channels, ThreadPublisher, ThreadSubscriber

KINDS: dict[str, tuple[Any, Any]] = {
    "pipe": (PipePublisher, PipeSubscriber),
    "queue": (QueuePublisher, QueueSubscriber),
    "simple_queue": (QueuePublisher, SimpleQueueSubscriber),
    "shared_memory": (SegmentPublisher, SegmentSubscriber),
    "thread_queue": (ThreadPublisher, ThreadSubscriber),
    "thread_simple_queue": (ThreadPublisher, ThreadSubscriber),
}
BARE = ("pipe", "shared_memory")
PATHS = {
    "pipe": "Unix sockets",
    "queue": "a pipe, written by a thread of the queue's",
    "simple_queue": "a pipe",
    "shared_memory": "shared memory, with Unix sockets as the bell",
}


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        kind = self.settings["kind"]
        if self.settings["content"] == "bytes" and kind not in BARE:
            remedy = 'leave content = "object", or use kind = pipe or shared_memory'
            raise AdapterError(f"kind = {kind} carries objects, not bare bytes", remedy)
        self.path = PATHS.get(kind, "memory of this process")
        self._publisher, self._subscriber = KINDS[kind]
        self._more = (Channels(setup),) if kind.startswith("thread_") else ()

    @staticmethod
    def version() -> str:
        return f"{platform.python_implementation()} {platform.python_version()}"

    def publisher(self, link: Link) -> Any:
        return self._publisher(self.setup, link, *self._more)

    def subscriber(self, link: Link) -> Any:
        return self._subscriber(self.setup, link, *self._more)
