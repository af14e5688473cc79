"""The messages of ../idl/hopmeter.proto, and which of their fields take what of a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc

from hopmeter.node.contract import HEADER_BYTES, Fill, Setup
from hopmeter.node.loading import search_path
from hopmeter.node.typed import header_of, label, sent_of, seq_of

with search_path(Path(__file__).parents[1] / "idl"):
    IDL: Any = grpc.protos("hopmeter.proto")


def service(name: str) -> str:
    """A service's full name, as it stands in the path of a call."""
    return str(IDL.DESCRIPTOR.services_by_name[name].full_name)


class Kind:
    """`Image` where images are carried, else `Timing`."""

    def __init__(self, setup: Setup) -> None:
        self._is_image = setup.payload == "image"
        self._height, self._width = setup.height, setup.width
        self.name = "Image" if self._is_image else "Timing"
        self.message, self.receiver = getattr(IDL, self.name), IDL.Receiver

    def written(self, payload_bytes: int, fill: Fill) -> Any:
        """A message with a frame; the label is made of the header, so after the stamp."""
        header, payload = bytearray(HEADER_BYTES), bytearray(payload_bytes)
        fill(header, payload)
        if self._is_image:
            return self.message(
                nanosec=sent_of(header),
                frame_id=label(header),
                height=self._height,
                width=self._width,
                encoding="rgb8",
                step=3 * self._width,
                data=bytes(payload),
            )
        return self.message(id=seq_of(header), nanosec=sent_of(header), source=label(header), padding=bytes(payload))

    def payload(self, message: Any) -> bytes:
        """The payload, where the message has it."""
        return message.data if self._is_image else message.padding  # type: ignore[no-any-return]

    def header(self, message: Any) -> bytes:
        """The header, put together again."""
        text = message.frame_id if self._is_image else message.source
        return header_of(text, message.nanosec, len(self.payload(message)))
