"""Frames in ROS 2 messages; ../README.md describes which field stores which part of a frame's header."""

from __future__ import annotations

import ctypes
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link
from hopmeter.node.loading import search_path
from hopmeter.node.typed import SECOND_NS, header_of, label, nanoseconds, no_payload_field, sent_of
from hopmeter.system import paths


def services_folder() -> Path:
    """Return the folder of the services' package, next to the nodes. `hopmeter build ros2 --language c++` created it
    with ROS 2's tools.

    These libraries are requested by name only, in folders that were fixed when this process started; libraries that are
    already loaded are found.
    """
    for folder in paths.node_folders():
        packages = sorted((folder / "hopmeter_ros2").glob("**/hopmeter_ros2/srv/__init__.py"))
        if packages:
            load(folder / "hopmeter_ros2/lib")
            return packages[0].parents[2]
    raise ImportError("the services of ros2 are not built: hopmeter build ros2 --language c++")


def load(folder: Path) -> None:
    """Load the C libraries of the services; their dependencies are found next to them."""
    for library in sorted([*folder.glob("lib*_c.so"), *folder.glob("lib*_py.so")]):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


with search_path(services_folder()):
    from hopmeter_ros2.msg import Plain1K, Plain1M, Plain8M, Plain64K
    from hopmeter_ros2.srv import CarryImage, CarryTiming


class Carrier:
    """The message type for the payload of a link."""

    def __init__(self, link: Link) -> None:
        self._width, self._height = link.width, link.height
        self.is_timing = link.payload == "timing"
        self.message = Header if self.is_timing else Image
        self.service = CarryTiming if self.is_timing else CarryImage

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Call `fill` to write a frame into a new message."""
        if self.is_timing and payload_bytes:
            raise no_payload_field(payload_bytes)
        # With exactly this type, the octets are neither checked one by one nor copied when they are set.
        header, payload = bytearray(HEADER_BYTES), array("B", bytes(payload_bytes))
        fill(header, payload)
        fields = Header(stamp=time_sent(header), frame_id=label(header))
        return fields if self.is_timing else self._image(fields, payload)

    def _image(self, fields: Any, payload: array[int]) -> Any:
        """Set the size of an image; for bytes that are no image, height and width are 0."""
        image = Image(header=fields, height=self._height, width=self._width, encoding="rgb8", step=3 * self._width)
        image.data = payload
        return image

    def read(self, message: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of the frame that a message carries."""
        fields, payload = (message, b"") if self.is_timing else (message.header, message.data)
        return header_of(fields.frame_id, nanoseconds(fields.stamp), len(payload)), payload


class PlainCarrier(Carrier):
    """The smallest plain message type that has room."""

    ROOM = ((1 << 10, Plain1K), (1 << 16, Plain64K), (1 << 20, Plain1M), (1 << 23, Plain8M))

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        payload_bytes = link.frame_bytes - HEADER_BYTES
        fitting = [message for room, message in self.ROOM if payload_bytes <= room]
        if not fitting:
            raise AdapterError(
                f"plain messages hold up to 8 MiB, and the payload has {payload_bytes} bytes",
                "set message = standard, or measure smaller payloads",
            )
        self.message = fitting[0]

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Call `fill` to write a frame into a new message."""
        message, header = self.message(), bytearray(HEADER_BYTES)
        fill(header, message.data[:payload_bytes])
        message.stamp, message.length = time_sent(header), payload_bytes
        message.label[:] = np.frombuffer(label(header).encode(), np.uint8)
        return message

    def read(self, message: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of the frame that a message carries."""
        text, payload = message.label.tobytes().decode("ascii", "replace"), message.data[: message.length]
        return header_of(text, nanoseconds(message.stamp), len(payload)), payload


def topic_carrier(settings: dict[str, Any], link: Link) -> Carrier:
    """Return the carrier of topics; services have the standard messages."""
    return PlainCarrier(link) if settings["message"] == "plain" else Carrier(link)


def time_sent(header: bytearray) -> Any:
    """Return when a frame was sent, as a ROS 2 time."""
    seconds, nanoseconds = divmod(sent_of(header), SECOND_NS)
    return Time(sec=seconds, nanosec=nanoseconds)
