"""Frames as messages of hopmeter.thrift: which field takes what of the header stands in ../README.md."""

from __future__ import annotations

from hopmeter.node.contract import Fill, Setup
from hopmeter.node.typed import header_of, label, sent_of, seq_of

from .hopmeter_idl.ttypes import Image, Stamp, Timing

SECOND_NS = 1_000_000_000


class Messages:
    """Writes and reads the message that a trial's payload stands for."""

    def __init__(self, setup: Setup) -> None:
        self._width, self._height = setup.width, setup.height
        self.method = "image" if setup.payload == "image" else "timing"
        self._header = bytearray(64)
        self._payload = bytearray()

    def write(self, payload_bytes: int, fill: Fill) -> Timing | Image:
        """Has a frame written. Thrift takes the payload as `bytes` only, which nobody can fill: it is copied."""
        if len(self._payload) != payload_bytes:
            self._payload = bytearray(payload_bytes)
        fill(self._header, self._payload)
        if self.method == "image":
            return self._image(bytes(self._payload))
        seq = seq_of(self._header)
        number = seq - (seq >> 63 << 64)  # Thrift's integers have a sign
        return Timing(number, sent_of(self._header), label(self._header), bytes(self._payload))

    def _image(self, data: bytes) -> Image:
        stamp = Stamp(*divmod(sent_of(self._header), SECOND_NS))
        return Image(stamp, label(self._header), self._height, self._width, "rgb8", 3 * self._width, data)


def read(message: Timing | Image) -> tuple[bytes, bytes]:
    """The frame that a message carries: header and payload."""
    if isinstance(message, Timing):
        return header_of(message.source, message.nanosec, len(message.padding)), message.padding
    sent_ns = message.stamp.sec * SECOND_NS + message.stamp.nanosec
    return header_of(message.frame_id, sent_ns, len(message.data)), message.data
