"""The adapter for the ROS 2 wire protocol with Cyclone DDS's Python binding, without rclpy.

The adapter uses the messages of ../idl and ROS 2's topic and service names. ../../_cyclonedds/python contains the
shared code.
"""

from __future__ import annotations

from hopmeter.node.contract import Link, Setup

from ..._cyclonedds.python.ends import Carrier
from .messages import Headers, Images, Service
from .services import Client, Server


class Transport(Carrier):
    def __init__(self, setup: Setup) -> None:
        # ROS 2 does not support domain tags.
        super().__init__(setup, message_of, tagged=False)
        self.facts = self._facts

    def _facts(self) -> dict[str, str]:
        facts = self._participant.facts()
        if (dds := self._participant.setup.settings["dds"]) != "cyclonedds":
            also = [facts["fallback"]] if "fallback" in facts else []
            facts["fallback"] = "\n".join([*also, f"Python does not support dds = {dds}, so Cyclone DDS was used"])
        return facts

    def server(self, link: Link) -> Server:
        return Server(self._participant, Service(message_of(link)), link)

    def client(self, link: Link) -> Client:
        return Client(self._participant, Service(message_of(link)), link)


def message_of(link: Link) -> Headers:
    """Return the message type for the link's payload."""
    return Headers() if link.payload == "timing" else Images(link)
