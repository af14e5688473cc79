"""Converts frames to messages of hopmeter.thrift; ../README.md lists the message field for each part of a frame's
header."""

from __future__ import annotations

from hopmeter.node.buffers import PartsBuffer
from hopmeter.node.contract import Fill, Link
from hopmeter.node.typed import header_of, label, nanoseconds, sent_of, signed_seq, stamp

from .idl import Image, Stamp, Timing


class Messages:
    """Writes and reads the message type for a link's payload."""

    def __init__(self, link: Link) -> None:
        self._width, self._height = link.width, link.height
        self.method = "image" if link.payload == "image" else "timing"
        self._parts = PartsBuffer()

    def write(self, payload_bytes: int, fill: Fill) -> Timing | Image:
        """Return a message with the frame that `fill` writes.

        The payload is copied, because Thrift accepts payloads only as `bytes`, which cannot be filled in place.
        """
        header, payload = self._parts.fill(payload_bytes, fill)
        text, data = label(header), bytes(payload)
        if self.method == "image":
            return Image(Stamp(*stamp(header)), text, self._height, self._width, "rgb8", 3 * self._width, data)
        return Timing(signed_seq(header), sent_of(header), text, data)


def read(message: Timing | Image) -> tuple[bytes, bytes]:
    """Return the header and the payload of a message's frame."""
    if isinstance(message, Timing):
        return header_of(message.source, message.nanosec, len(message.padding)), message.padding
    return header_of(message.frame_id, nanoseconds(message.stamp), len(message.data)), message.data
