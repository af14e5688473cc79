"""Frames in messages of ROS 2: which field takes what of a frame's header stands in ../README.md."""

from __future__ import annotations

import ctypes
import sys
from array import array
from pathlib import Path
from typing import Any

from hopmeter import places
from hopmeter.node.contract import AdapterError, Fill, Setup
from hopmeter.node.typed import header_of, label, sent_of

SECOND_NS = 1_000_000_000


def put_services_on_path() -> None:
    """The services lie beside the nodes, where `hopmeter build ros2 --language c++` had ROS 2's tools make them.

    Their libraries are asked for by name alone, in folders that were fixed when this process started: those that are
    loaded already are found."""
    for folder in places.node_folders():
        packages = sorted((folder / "hopmeter_ros2").glob("**/hopmeter_ros2/srv/__init__.py"))
        if packages:
            sys.path.append(str(packages[0].parents[2]))
            load(folder / "hopmeter_ros2/lib")
            return
    raise ImportError("the services of ros2 are not built: hopmeter build ros2 --language c++")


def load(folder: Path) -> None:
    """Loads the C libraries of the services; those that others need are found beside them."""
    for library in sorted([*folder.glob("lib*_c.so"), *folder.glob("lib*_py.so")]):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


put_services_on_path()

from builtin_interfaces.msg import Time  # noqa: E402
from hopmeter_ros2.srv import CarryImage, CarryTiming  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from std_msgs.msg import Header  # noqa: E402


class Carrier:
    """The message that a trial's payload stands for."""

    def __init__(self, setup: Setup) -> None:
        self._width, self._height = setup.width, setup.height
        self.is_timing = setup.payload == "timing"
        self.message = Header if self.is_timing else Image
        self.service = CarryTiming if self.is_timing else CarryImage

    def written(self, payload_bytes: int, fill: Fill) -> Any:
        """Has a frame written into a fresh message."""
        if self.is_timing and payload_bytes:
            raise AdapterError("std_msgs/Header has no field for a payload", "ask for the payload `bytes`")
        # Of this very type, its octets are neither checked one by one nor copied when they are set.
        header, payload = bytearray(64), array("B", bytes(payload_bytes))
        fill(header, payload)
        seconds, nanoseconds = divmod(sent_of(header), SECOND_NS)
        fields = Header(stamp=Time(sec=seconds, nanosec=nanoseconds), frame_id=label(header))
        return fields if self.is_timing else self._image(fields, payload)

    def _image(self, fields: Any, payload: array[int]) -> Any:
        """Bytes that are no picture have height and width 0."""
        image = Image(header=fields, height=self._height, width=self._width, encoding="rgb8", step=3 * self._width)
        image.data = payload
        return image

    def read(self, message: Any) -> tuple[bytes, Any]:
        """The frame that a message carries: header and payload."""
        fields, payload = (message, b"") if self.is_timing else (message.header, message.data)
        sent_ns = fields.stamp.sec * SECOND_NS + fields.stamp.nanosec
        return header_of(fields.frame_id, sent_ns, len(payload)), payload
