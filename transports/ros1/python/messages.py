"""Stores frames in ROS messages; ../README.md lists the message field for each part of a frame's header."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hopmeter.node.contract import Fill, Link
from hopmeter.node.loading import search_path
from hopmeter.node.typed import SECOND_NS, header_of, image_fields, label, no_payload_field, sent_of


def ros1_folders() -> list[Path]:
    """Return the folders of ROS 1, if it is installed.

    ROS 2 has packages with the same names and adds its packages to PYTHONPATH, but only ROS 1 has rospy.
    """
    found = find_spec("rospy")
    return [Path(found.origin).parents[1]] if found is not None and found.origin is not None else []


with search_path(*ros1_folders(), first=True):
    import rospy
    from sensor_msgs.msg import Image
    from std_msgs.msg import Header


def service_of(name: str, message: type[Any]) -> type[Any]:
    """Return the service `T it --- T it`, whose request and response have the same bytes on the wire as T. T serves as
    both request and response, so no code must be generated. genmsg computes the checksum from the service's text."""
    text = f"{message._md5sum} it".encode()
    return type(
        name,
        (),
        {
            "_type": f"hopmeter/{name}",
            "_md5sum": hashlib.md5(text + text, usedforsecurity=False).hexdigest(),
            "_request_class": message,
            "_response_class": message,
        },
    )


class Carrier:
    """The message type for a link's payload."""

    def __init__(self, link: Link) -> None:
        self._image_fields = image_fields(link)
        self.is_timing = link.payload == "timing"
        self.message = Header if self.is_timing else Image
        self.service = service_of("CarryTiming" if self.is_timing else "CarryImage", self.message)

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Return a new message with the frame that `fill` writes."""
        if self.is_timing and payload_bytes:
            raise no_payload_field(payload_bytes)
        header, payload = bytearray(64), bytearray(payload_bytes)
        fill(header, payload)
        fields = Header(0, rospy.Time(*divmod(sent_of(header), SECOND_NS)), label(header))
        if self.is_timing:
            return fields
        return Image(fields, *self._image_fields, payload)

    def read(self, message: Any) -> tuple[bytes, bytes]:
        """Return the header and the payload of a message's frame."""
        fields, payload = (message, b"") if self.is_timing else (message.header, message.data)
        return header_of(fields.frame_id, fields.stamp.to_nsec(), len(payload)), payload
