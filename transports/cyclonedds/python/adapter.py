"""Cyclone DDS by its Python binding. The messages are those of ../idl; the rest is in ../../_cyclonedds/python."""

from __future__ import annotations

import sys
from pathlib import Path

from hopmeter.node.contract import Setup

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_cyclonedds" / "python"))
from ends import Carrier
from messages import Images, Timings


class Transport(Carrier):
    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, Images(setup) if setup.payload == "image" else Timings(), tagged=True)
