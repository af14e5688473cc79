"""The adapter for multiprocessing between unrelated Python processes; ../README.md describes the wire formats."""

from __future__ import annotations

import platform
from typing import Any

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import Link, Setup

from ..._multiprocessing.python.piped import PipePublisher, PipeSubscriber
from ..._multiprocessing.python.segments import SegmentPublisher, SegmentSubscriber
from .calls import Client, SegmentClient, SegmentServer, Server

Ends = tuple[Any, Any, Any, Any]
KINDS: dict[str, tuple[str, Ends]] = {
    "connection": ("Unix sockets", (PipePublisher, PipeSubscriber, Server, Client)),
    "shared_memory": (
        "shared memory, with Unix sockets as the bell",
        (SegmentPublisher, SegmentSubscriber, SegmentServer, SegmentClient),
    ),
}
TORCH_PATH = "a segment of shared memory for each tensor, which PyTorch creates"


class Transport(BaseTransport):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._is_torch = self.settings["kind"] == "torch"
        self.path, (self._publisher, self._subscriber, self._server, self._client) = self._kind()

    def _kind(self) -> tuple[str, Ends]:
        if not self._is_torch:
            return KINDS[self.settings["kind"]]
        from . import tensors  # needs PyTorch, which the other kinds do not need

        tensors.load_torch(self.setup)
        return TORCH_PATH, tensors.ENDS

    @staticmethod
    def version() -> str:
        return f"{platform.python_implementation()} {platform.python_version()}"

    def facts(self) -> dict[str, str]:
        if not self._is_torch:
            return super().facts()
        import torch

        return {**super().facts(), "torch": torch.__version__}

    def publisher(self, link: Link) -> Any:
        return self._publisher(self.setup, link, keyed=True)

    def subscriber(self, link: Link) -> Any:
        return self._subscriber(self.setup, link, keyed=True)

    def server(self, link: Link) -> Any:
        return self._server(self.setup, link)

    def client(self, link: Link) -> Any:
        return self._client(self.setup, link)

    def close(self) -> None:
        if self._is_torch:
            from . import tensors

            tensors.stop_sharing()
