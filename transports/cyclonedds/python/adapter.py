"""Cyclone DDS with its Python binding. ../idl defines the messages; the rest is in ../../_cyclonedds/python."""

from __future__ import annotations

from hopmeter.node.contract import Setup

from ..._cyclonedds.python.ends import Carrier
from .messages import Images, Timings


class Transport(Carrier):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, Images(setup) if setup.payload == "image" else Timings(), tagged=True)
