"""The adapter for YARP with its Python bindings: one-row images, streamed or requested. ../README.md has details."""

from __future__ import annotations

from functools import partial

from hopmeter.node import handover
from hopmeter.node.contract import Link, Setup, Take

from .calls import Client, Server
from .network import Network, yarp
from .topics import Buffered, Called, Polled, Writing

ROOM = 1024
"""The maximum number of frames that wait for the polling thread.

Further frames are dropped, because a sender would wait forever for room.
"""


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._network = Network(setup)
        self._blocking: list[handover.Subscriber] = []
        self._blocks = False

    @staticmethod
    def version() -> str:
        return f"YARP {yarp.YARP_VERSION}"

    def _network_for(self, link: Link) -> Network:
        """Return the network, and record whether the link blocks, because the fact `path` includes the wait."""
        self._blocks |= link.wait == "block"
        return self._network

    def publisher(self, link: Link) -> Writing | Buffered:
        is_buffered = self._network.settings["write"] == "buffered"
        return (Buffered if is_buffered else Writing)(self._network_for(link), link)

    def subscriber(self, link: Link) -> Polled | handover.Subscriber:
        if link.wait == "block":
            called = partial(Called, self._network_for(link), link, keeps=True)
            self._blocking.append(handover.Subscriber(called, ROOM, drops=True))
            return self._blocking[-1]
        return Polled(self._network, link)

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        return Called(self._network, link, on_frame)

    def server(self, link: Link) -> Server | handover.Server:
        server = Server(self._network_for(link), link)
        return handover.Server(server) if link.wait == "block" else server

    def client(self, link: Link) -> Client:
        return Client(self._network_for(link), link)

    def facts(self) -> dict[str, str]:
        dropped = sum(each.drop_count for each in self._blocking)
        said = (
            f"{dropped} frames were dropped because {ROOM} frames already waited for the polling thread; lower the rate"
        )
        loss = {"loss": said} if dropped else {}
        told = self._network.facts()
        if "path" in told:
            told["path"] = handover.path_fact(told["path"], self._blocks)
        return {**told, **loss}

    def close(self) -> None:
        self._network.close()
