"""Stores frames in ROS 2 messages; ../README.md lists the message field for each part of a frame's header."""

from __future__ import annotations

import functools
import importlib
import sys
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

from .generated import load
from .own_types import FramedOctets, Octets, OwnCalls, OwnMessage, is_service, own_calls, own_carrier


def interfaces_folders() -> list[Path]:
    """Return the folder of hopmeter's message package, or an empty list if this Python's environment contains the
    package.

    `hopmeter build ros2` has put the package next to the nodes. The package's C libraries are loaded first, because the
    library search path was fixed when the process started.
    """
    if Path(sys.prefix, "share/hopmeter_ros2").is_dir():
        return []
    for folder in (each / "ros2-interfaces" for each in paths.node_folders()):
        if packages := sorted(folder.glob("**/hopmeter_ros2/srv/__init__.py")):
            load(folder / "lib")
            return [packages[0].parents[2]]
    raise ImportError("the messages of ros2 are not built")


@functools.cache
def own_messages() -> Any:
    """Return hopmeter's own message package, which only rpc links and plain messages need."""
    with search_path(*interfaces_folders()):
        for kind in ("msg", "srv"):
            importlib.import_module(f"hopmeter_ros2.{kind}")
        return importlib.import_module("hopmeter_ros2")


class Carrier:
    """The message type for a link's payload."""

    raw = False

    def __init__(self, link: Link) -> None:
        self._width, self._height = link.width, link.height
        self.is_timing = link.payload == "timing"
        self.message = Header if self.is_timing else Image
        self.title = "std_msgs/msg/Header" if self.is_timing else "sensor_msgs/msg/Image"

    @property
    def service(self) -> Any:
        """Return the service whose request and response contain a message of this type."""
        return own_messages().srv.CarryTiming if self.is_timing else own_messages().srv.CarryImage

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Return a new message with the frame that `fill` writes."""
        if self.is_timing and payload_bytes:
            raise no_payload_field(payload_bytes)
        # rclpy neither checks nor copies octets of exactly this type.
        header, payload = bytearray(HEADER_BYTES), array("B", bytes(payload_bytes))
        fill(header, payload)
        fields = Header(stamp=time_sent(header), frame_id=label(header))
        return fields if self.is_timing else self._image(fields, payload)

    def _image(self, fields: Any, payload: array[int]) -> Any:
        """Set the size of an image in a message. Height and width are 0 if the bytes are not an image."""
        image = Image(header=fields, height=self._height, width=self._width, encoding="rgb8", step=3 * self._width)
        image.data = payload
        return image

    def read(self, message: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a message's frame."""
        fields, payload = (message, b"") if self.is_timing else (message.header, message.data)
        return header_of(fields.frame_id, nanoseconds(fields.stamp), len(payload)), payload


class PlainCarrier(Carrier):
    """The smallest plain message type with room for the payload."""

    ROOM = ((1 << 10, "Plain1K"), (1 << 16, "Plain64K"), (1 << 20, "Plain1M"), (1 << 23, "Plain8M"))

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        payload_bytes = link.frame_bytes - HEADER_BYTES
        fitting = [name for room, name in self.ROOM if payload_bytes <= room]
        if not fitting:
            raise AdapterError(
                f"plain messages hold up to 8 MiB, but the payload has {payload_bytes} bytes",
                "set message = standard, or measure smaller payloads",
            )
        self.message = getattr(own_messages().msg, fitting[0])
        self.title = f"hopmeter_ros2/msg/{fitting[0]}"

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Return a new message with the frame that `fill` writes."""
        message, header = self.message(), bytearray(HEADER_BYTES)
        fill(header, message.data[:payload_bytes])
        message.stamp, message.length = time_sent(header), payload_bytes
        message.label[:] = np.frombuffer(label(header).encode(), np.uint8)
        return message

    def read(self, message: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a message's frame."""
        text, payload = message.label.tobytes().decode("ascii", "replace"), message.data[: message.length]
        return header_of(text, nanoseconds(message.stamp), len(payload)), payload


AnyCarrier = Carrier | OwnMessage | Octets | FramedOctets


class EchoCalls:
    """Calls whose request and response have the same message in the field `it`."""

    def __init__(self, carrier: Carrier | OwnMessage) -> None:
        self._carrier, self.service, self.title = carrier, carrier.service, carrier.title

    def write_request(self, payload_bytes: int, fill: Fill) -> Any:
        """Return a request with the frame that `fill` writes."""
        return self.service.Request(it=self._carrier.write(payload_bytes, fill))

    def read_request(self, request: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a request's frame."""
        return self._carrier.read(request.it)

    def write_reply(self, response: Any, payload_bytes: int, fill: Fill) -> Any:
        """Let `fill` write a frame into a response, and return the response."""
        response.it = self._carrier.write(payload_bytes, fill)
        return response

    def read_reply(self, response: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a response's frame."""
        return self._carrier.read(response.it)


Calls = EchoCalls | OwnCalls


def topic_carrier(settings: dict[str, Any], link: Link) -> AnyCarrier:
    """Return the carrier of a topic's messages. Raises AdapterError."""
    if settings["message"] == "plain":
        if link.message_type:
            remedy = "omit message=plain, or choose another payload"
            raise AdapterError(f"plain messages carry bytes, but this link carries {link.message_type}", remedy)
        return PlainCarrier(link)
    return own_carrier(link) if link.message_type else Carrier(link)


def calls_of(link: Link) -> Calls:
    """Return the carrier of a link's calls. Raises AdapterError.

    ROS 2 has no service for plain octets, so an Image contains the octets.
    """
    if not link.message_object:
        return EchoCalls(Carrier(link))
    if is_service(link):
        return own_calls(link)
    found = own_carrier(link)
    assert isinstance(found, OwnMessage), "an object makes a message"
    return EchoCalls(found)


def time_sent(header: bytearray) -> Any:
    """Return the send time of a frame as a ROS 2 time."""
    seconds, nanoseconds = divmod(sent_of(header), SECOND_NS)
    return Time(sec=seconds, nanosec=nanoseconds)
