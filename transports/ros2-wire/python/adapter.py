"""The wire protocol of ROS 2 with Cyclone DDS's Python binding.

The adapter uses the messages of ../idl, and names topics and services as ROS 2 does. It uses no rclpy.

The rest is in ../../_cyclonedds/python.
"""

from __future__ import annotations

from hopmeter.node.contract import Link, Setup

from ..._cyclonedds.python.ends import Carrier
from .messages import Headers, Images, Service
from .services import Client, Server


class Transport(Carrier):
    def __init__(self, setup: Setup) -> None:
        message = Headers() if setup.payload == "timing" else Images(setup)
        # ROS 2 does not support domain tags.
        super().__init__(setup, message, tagged=False)
        self._service = Service(message)
        self.facts = self._facts

    def _facts(self) -> dict[str, str]:
        facts = self._participant.facts()
        if (dds := self._participant.setup.settings["dds"]) != "cyclonedds":
            also = [facts["fallback"]] if "fallback" in facts else []
            facts["fallback"] = "; ".join([*also, f"Python has no dds = {dds}: Cyclone DDS was taken"])
        return facts

    def server(self, link: Link) -> Server:
        return Server(self._participant, self._service, link)

    def client(self, link: Link) -> Client:
        return Client(self._participant, self._service, link)
