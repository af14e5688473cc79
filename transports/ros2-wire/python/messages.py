"""The messages of ../idl in Python, and the fields in which they store a frame; ../README.md lists the fields.

The annotations are real types instead of strings, because Cyclone DDS derives its type support from the annotations.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import int32, int64, sequence, uint8, uint32, uint64

from hopmeter.node.contract import Link
from hopmeter.node.typed import header_of, image_fields, label, nanoseconds, no_payload_field, stamp

from ..._cyclonedds.python.fields import octets_as_bytes

if TYPE_CHECKING:
    Octets = bytearray | bytes
else:
    Octets = sequence[uint8]


@dataclass
@final
class Time(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
    sec: int32
    nanosec: uint32


@dataclass
@final
class Header(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
    stamp: Time
    frame_id: str


@octets_as_bytes("data")
@dataclass
@final
class Image(IdlStruct, typename="sensor_msgs.msg.dds_.Image_"):
    header: Header
    height: uint32
    width: uint32
    encoding: str
    is_bigendian: uint8
    step: uint32
    data: Octets


@functools.cache
def carrier_type(name: str, message: type[IdlStruct]) -> type[IdlStruct]:
    """Return the type of a request or reply: a message, the client's identity and the call number."""

    @dataclass
    @final
    class Carried(IdlStruct, typename=f"hopmeter_ros2.srv.dds_.{name}_"):
        client: uint64
        number: int64
        it: message  # type: ignore[valid-type]

    return Carried


def message_header(header: bytearray) -> Header:
    return Header(Time(*stamp(header)), label(header))


def frame_header(header: Header, payload_bytes: int) -> bytes:
    return header_of(header.frame_id, nanoseconds(header.stamp), payload_bytes)


class Headers:
    """std_msgs/Header: a timestamp and a frame id. The message has no payload field."""

    sample_type: type[IdlStruct] = Header

    def topic(self, link: str) -> str:
        return f"rt/hopmeter_{link}"

    def write(self, header: bytearray, payload: bytearray) -> Header:
        if payload:
            raise no_payload_field(len(payload))
        return message_header(header)

    def read(self, sample: Header) -> tuple[bytes, bytes]:
        return frame_header(sample, 0), b""


class Images(Headers):
    """A sensor_msgs/Image, whose height and width are 0 if the bytes are not an image."""

    sample_type = Image

    def __init__(self, link: Link) -> None:
        self._image_fields = image_fields(link)

    def write(self, header: bytearray, payload: bytearray) -> Image:
        return Image(message_header(header), *self._image_fields, payload)

    def read(self, sample: Image) -> tuple[bytes, bytes]:
        return frame_header(sample.header, len(sample.data)), sample.data


class Enveloped:
    """A message inside a request or a reply. The sender sets the client's identity and the call number in the request
    or reply."""

    def __init__(self, message: Headers, sample_type: Any, topic: str) -> None:
        self._message, self.sample_type, self._topic = message, sample_type, topic

    def topic(self, link: str) -> str:
        return self._topic.format(link=link)

    def write(self, header: bytearray, payload: bytearray) -> Any:
        return self.sample_type(0, 0, self._message.write(header, payload))

    def read(self, sample: Any) -> tuple[bytes, bytes]:
        return self._message.read(sample.it)


class Service:
    """A service whose requests and replies each contain one message."""

    def __init__(self, message: Headers) -> None:
        name = "CarryImage" if isinstance(message, Images) else "CarryTiming"
        request, reply = (carrier_type(f"{name}_{part}", message.sample_type) for part in ("Request", "Response"))
        self.request = Enveloped(message, request, "rq/hopmeter_{link}Request")
        self.reply = Enveloped(message, reply, "rr/hopmeter_{link}Reply")
