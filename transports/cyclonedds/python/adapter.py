"""The adapter for Cyclone DDS through its Python binding. ../idl defines the messages; ../../_cyclonedds/python
contains the shared code."""

from __future__ import annotations

from hopmeter.node.contract import Link, Setup

from ..._cyclonedds.python.ends import Carrier
from .messages import Images, Timings


class Transport(Carrier):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, message_of, tagged=True)


def message_of(link: Link) -> Timings:
    """Return the message type for the link's payload."""
    return Images(link) if link.payload == "image" else Timings()
