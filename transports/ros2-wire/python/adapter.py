"""The wire format of ROS 2 by Cyclone DDS's Python binding: messages of ../idl, topics as ROS 2 names them. No rclpy.

The rest is in ../../_cyclonedds/python.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hopmeter.node.contract import Setup

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_cyclonedds" / "python"))
from ends import Carrier
from messages import Headers, Images


class Transport(Carrier):
    def __init__(self, setup: Setup) -> None:
        # ROS 2 knows no tags.
        super().__init__(setup, Headers() if setup.payload == "timing" else Images(setup), tagged=False)
