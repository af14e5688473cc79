"""The messages of ../idl/hopmeter.proto, and the fields that store the parts of a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc

from hopmeter.node.contract import HEADER_BYTES, Fill, Link
from hopmeter.node.loading import search_path
from hopmeter.node.typed import header_of, label, sent_of, seq_of

with search_path(Path(__file__).parents[1] / "idl"):
    IDL: Any = grpc.protos("hopmeter.proto")
SERVICE = IDL.DESCRIPTOR.services_by_name["Link"].full_name


class Kind:
    """The message type for a payload: `Image` if the payload is an image, otherwise `Timing`."""

    def __init__(self, link: Link) -> None:
        self._is_image = link.payload == "image"
        self._shape = {"height": link.height, "width": link.width, "encoding": "rgb8", "step": 3 * link.width}
        self.name = "Image" if self._is_image else "Timing"
        self.message, self.receiver = getattr(IDL, self.name), IDL.Receiver
        self.coders = self.message.SerializeToString, self.message.FromString

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Return a message with the frame that `fill` writes.

        The label is set last, because it is computed from the whole header, including the sent time.
        """
        header, payload = bytearray(HEADER_BYTES), bytearray(payload_bytes)
        fill(header, payload)
        if self._is_image:
            return self.message(nanosec=sent_of(header), frame_id=label(header), data=bytes(payload), **self._shape)
        return self.message(id=seq_of(header), nanosec=sent_of(header), source=label(header), padding=bytes(payload))

    def read(self, message: Any) -> tuple[bytes, bytes]:
        """Return the header and the payload of a message's frame."""
        if self._is_image:
            return header_of(message.frame_id, message.nanosec, len(payload := message.data)), payload
        return header_of(message.source, message.nanosec, len(payload := message.padding)), payload
