"""YARP by its Python bindings: images of one row, streamed or asked for. ../README.md tells more."""

from __future__ import annotations

from calls import Client, Server
from house import House, yarp
from topics import Buffered, Called, Polled, Writing

from hopmeter.node.contract import Link, Setup, Take


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._house = House(setup)

    @staticmethod
    def version() -> str:
        return f"YARP {yarp.YARP_VERSION}"

    def publisher(self, link: Link) -> Writing | Buffered:
        is_buffered = self._house.settings["write"] == "buffered"
        return (Buffered if is_buffered else Writing)(self._house, link)

    def subscriber(self, link: Link) -> Polled:
        return Polled(self._house, link)

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        return Called(self._house, link, on_frame)

    def server(self, link: Link) -> Server:
        return Server(self._house, link)

    def client(self, link: Link) -> Client:
        return Client(self._house, link)

    def facts(self) -> dict[str, str]:
        return {"path": f"ports connected by the carrier {self._house.settings['carrier']}"}

    def close(self) -> None:
        self._house.close()
