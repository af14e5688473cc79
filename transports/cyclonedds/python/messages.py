"""The messages of ../idl in Python, and the fields in which they store a frame; ../README.md lists the fields.

The annotations are real types instead of strings, because Cyclone DDS derives its type support from the annotations.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import byte, int32, int64, sequence, uint32

from hopmeter.node.contract import Link
from hopmeter.node.typed import header_of, image_fields, label, nanoseconds, sent_of, signed_seq, stamp

from ..._cyclonedds.python.fields import octets_as_bytes

if TYPE_CHECKING:
    Octets = bytearray | bytes
else:
    Octets = sequence[byte]


@octets_as_bytes("padding")
@dataclass
@final
class Timing(IdlStruct, typename="message.Timing"):
    id: int64
    nanosec: int64
    source: str
    padding: Octets


@dataclass
@final
class Time(IdlStruct, typename="message.Time"):
    sec: int32
    nanosec: uint32


@octets_as_bytes("data")
@dataclass
@final
class Image(IdlStruct, typename="message.Image"):
    stamp: Time
    frame_id: str
    height: uint32
    width: uint32
    encoding: str
    is_bigendian: byte
    step: uint32
    data: Octets


class Timings:
    sample_type: type[IdlStruct] = Timing

    def topic(self, link: str) -> str:
        """Return the topic's name, which must begin with a letter; a link's name may begin with another character."""
        return f"hopmeter_{link}"

    def write(self, header: bytearray, payload: bytearray) -> Timing:
        return Timing(signed_seq(header), sent_of(header), label(header), payload)

    def read(self, sample: Timing) -> tuple[bytes, bytes]:
        return header_of(sample.source, sample.nanosec, len(sample.padding)), sample.padding


class Images(Timings):
    sample_type = Image

    def __init__(self, link: Link) -> None:
        self._image_fields = image_fields(link)

    def write(self, header: bytearray, payload: bytearray) -> Image:
        return Image(Time(*stamp(header)), label(header), *self._image_fields, payload)

    def read(self, sample: Image) -> tuple[bytes, bytes]:
        return header_of(sample.frame_id, nanoseconds(sample.stamp), len(sample.data)), sample.data
