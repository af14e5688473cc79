"""Messages of the user's own type: as objects that the rmw serialises, or as pre-serialised bytes. ../README.md
describes where a frame's header is stored."""

from __future__ import annotations

import ctypes
import functools
import struct
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from rosidl_parser.definition import (
    AbstractNestedType,
    NamespacedType,
    UnboundedSequence,
    UnboundedString,
    UnboundedWString,
)

from hopmeter.node.buffers import PartsBuffer, new_bytes
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link
from hopmeter.node.typed import LABEL_BYTES, SECOND_NS, header_of, is_checked, label, nanoseconds, stamp

from .generated import add_code, class_of

FRONT = "4siI56sI4s"
"""The `struct` format of the data before a message's octets: encapsulation, time, label, octet count and inner
encapsulation."""
FRONT_BYTES = 76
"""The length of the data before a message's octets, including the inner encapsulation."""
WORD = 4


REPLY = "reply.bin"
"""The file of a service's encoded response, next to the file of the request."""


def is_service(link: Link) -> bool:
    """Return whether the link's type is a service, such as `nav_msgs/srv/GetMap`."""
    return "/srv/" in link.message_type


def own_calls(link: Link) -> OwnCalls:
    """Return the carrier of a link's calls, for a service type that the user chose."""
    return OwnCalls(link.message_type, add_code(Path(link.message_code)), Path(link.message_object))


def own_carrier(link: Link) -> OwnMessage | Octets | FramedOctets:
    """Return the carrier of a link's messages, for a message type that the user chose. Raises AdapterError."""
    framed = add_code(Path(link.message_code)) if link.message_code else ""
    try:
        message = class_of(link.message_type)
    except (ImportError, AttributeError) as cause:
        remedy = f"run `hopmeter build --message {link.message_type}` with the same ROS 2"
        raise AdapterError(f"this ROS 2 has no {link.message_type}: {cause}", remedy) from cause
    if link.message_object:
        return OwnMessage(message, framed, Path(link.message_object).read_bytes())
    return FramedOctets(framed) if is_bounded(message) else Octets(message)


class Framed:
    """A message that the rmw encodes. The frame's header is in the message's own header or in a wrapper message.

    `kind` is the class of the message or its wrapper, and `message` is the class of the message itself. `payload` is
    the frame's payload, and `encoded` is the encoded message that represents the payload. `payload` and `encoded`
    contain the same octets, except for a reply.
    """

    raw = False

    def __init__(self, kind: Any, message: Any, encoded: bytes, payload: bytes) -> None:
        self.message, self._encoded, self._buffer = kind, payload, PartsBuffer()
        self._sent, self._expected = (deserialize_message(encoded, message) for _ in range(2))
        self.has_header = kind is message
        if not self.has_header:
            self._sent = kind(value=self._sent)

    def write(self, payload_bytes: int, fill: Fill) -> Any:
        """Let `fill` write a frame, and return the message with the frame's header."""
        if payload_bytes != len(self._encoded):
            what = f"a frame of {payload_bytes} bytes cannot be a message of {len(self._encoded)} bytes"
            raise AdapterError(what, 'use reply = "echo", so that replies are whole messages')
        header, _ = self._buffer.fill(payload_bytes, fill)
        if self.has_header:
            own = self._sent.header
            own.stamp.sec, own.stamp.nanosec = stamp(header)
            own.frame_id = label(header)
        else:
            self._sent.stamp.sec, self._sent.stamp.nanosec = stamp(header)
            self._sent.label[:LABEL_BYTES] = np.frombuffer(label(header).encode(), np.uint8)
        return self._sent

    def read(self, message: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a message's frame.

        If the payload is checked and the message differs from the sent message, return zeros as the payload.
        """
        if self.has_header:
            fields, text = message.header, message.header.frame_id
        else:
            fields, text = message, message.label[:LABEL_BYTES].tobytes().decode("ascii", "replace")
        header = header_of(text, nanoseconds(fields.stamp), len(self._encoded))
        return header, functools.partial(self._payload, message) if is_checked(header) else self._encoded

    def _payload(self, message: Any) -> bytes:
        if self.has_header:
            self._expected.header = message.header
        is_right = is_same(message if self.has_header else message.value, self._expected)
        return self._encoded if is_right else bytes(len(self._encoded))


class OwnMessage(Framed):
    """A message of the user's type."""

    def __init__(self, message: Any, framed: str, encoded: bytes) -> None:
        self._framed = framed
        kind = message if has_header(message) else class_of(f"{framed}/msg/Framed")
        super().__init__(kind, message, encoded, encoded)
        self.title = name_of_class(message) + (" in hopmeter's frame" if not self.has_header else "")

    @property
    def service(self) -> Any:
        """Return the service whose request and response contain a message of this type."""
        return class_of(f"{self._framed}/srv/Call")


class OwnCalls:
    """Calls of the user's service. Calls whose request and response each contain a frame.

    The frame of a reply has the payload of the request, and the response represents this payload.
    """

    def __init__(self, name: str, framed: str, request: Path) -> None:
        self.service = class_of(f"{framed}/srv/Call")
        encoded, reply = request.read_bytes(), request.with_name(REPLY).read_bytes()
        self._requests = Framed(*_classes(framed, self.service, "Request"), encoded, encoded)
        self._replies = Framed(*_classes(framed, self.service, "Response"), reply, encoded)
        inside = [] if self._requests.has_header else ["request"]
        inside += [] if self._replies.has_header else ["response"]
        sizes = f"request of {len(encoded):,} bytes, response of {len(reply):,} bytes"
        self.title = f"{name}, {sizes}" + (f"; {' and '.join(inside)} in hopmeter's frame" if inside else "")

    def write_request(self, payload_bytes: int, fill: Fill) -> Any:
        """Return a request with the frame that `fill` writes."""
        return self._requests.write(payload_bytes, fill)

    def read_request(self, request: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a request's frame."""
        return self._requests.read(request)

    def write_reply(self, _: Any, payload_bytes: int, fill: Fill) -> Any:
        """Return a response with the frame that `fill` writes."""
        return self._replies.write(payload_bytes, fill)

    def read_reply(self, response: Any) -> tuple[bytes, Any]:
        """Return the header and the payload of a response's frame."""
        return self._replies.read(response)


def _classes(framed: str, service: Any, word: str) -> tuple[Any, Any]:
    """Return the class of a request or response, and the class of the message in it.

    This message is the request or response itself, or its field `value`.
    """
    kind = getattr(service, word)
    return kind, kind if has_header(kind) else class_of(f"{framed}/msg/{word}Value")


class Octets:
    """An encoded message of a type of unlimited size. The frame's header follows the encoded message.

    Decoders of the message do not read the header. The last octet is the number of octets after the header.
    """

    raw = True

    def __init__(self, message: Any) -> None:
        self.message, self._frame = message, b""
        self.title = f"{name_of_class(message)} as octets"
        self._places: Any = (ctypes.c_ubyte * 0)()

    def write(self, payload_bytes: int, fill: Fill) -> bytes:
        """Let `fill` write a frame into an octet buffer, which is reused because rclpy copies it."""
        end = payload_bytes + HEADER_BYTES
        more = WORD - payload_bytes % WORD
        if len(self._frame) != end + more:
            self._frame, self._places = new_bytes(end + more)
        self._places[-1] = more  # messages of two sizes may be encoded to the same number of octets
        octets = memoryview(self._places).cast("B")
        fill(octets[payload_bytes:end], octets[:payload_bytes])
        return self._frame

    def read(self, octets: bytes) -> tuple[Any, Any]:
        """Return the header and the payload of the frame in the given octets; both are empty if the octets contain no
        frame."""
        view = memoryview(octets)
        end = len(octets) - octets[-1] if octets else 0
        payload_bytes = max(0, end - HEADER_BYTES)
        return view[payload_bytes:end], view[:payload_bytes]


class FramedOctets:
    """An encoded message of bounded size, which follows the frame's header in a wrapper message.

    A wrapper is necessary, because an rmw has no room for a header after a message of bounded size.
    """

    raw = True

    def __init__(self, framed: str) -> None:
        self.message = class_of(f"{framed}/msg/Framed")
        self.title = f"{self.message.get_fields_and_field_types()['value']} as octets in hopmeter's frame"

    def write(self, payload_bytes: int, fill: Fill) -> bytes:
        """Let `fill` write a frame into a new octet buffer."""
        header, octets = bytearray(HEADER_BYTES), bytearray(FRONT_BYTES - WORD + payload_bytes)
        payload = memoryview(octets)[FRONT_BYTES - WORD :]
        fill(header, payload)
        kind = bytes(payload[:WORD])
        fields = (kind, *stamp(header), label(header).encode(), payload_bytes, kind)
        struct.pack_into(byte_order(kind) + FRONT, octets, 0, *fields)
        return bytes(octets)

    def read(self, octets: bytes) -> tuple[Any, Any]:
        """Return the header and the payload of the frame in the given octets; both are empty if the octets contain no
        frame."""
        if len(octets) < FRONT_BYTES:
            return b"", b""
        _, seconds, nanos, text, payload_bytes, _ = struct.unpack_from(byte_order(octets) + FRONT, octets)
        payload = memoryview(octets)[FRONT_BYTES - WORD :][:payload_bytes]
        return header_of(text.decode("ascii", "replace"), seconds * SECOND_NS + nanos, len(payload)), payload


def byte_order(octets: bytes) -> str:
    """Return the byte order of encoded octets as a `struct` character, which the second octet determines."""
    return "<" if octets[1:2] and octets[1] & 1 else ">"


def name_of_class(message: Any) -> str:
    """Return the name of a message class, such as `nav_msgs/msg/Odometry`."""
    package, kind = message.__module__.split(".")[:2]
    return f"{package}/{kind}/{message.__name__}"


def has_header(message: Any) -> bool:
    """Return whether the first field of a message type is a std_msgs/Header, whose time and text can store a frame's
    header."""
    return next(iter(message.get_fields_and_field_types().items()), None) == ("header", "std_msgs/Header")


def is_bounded(message: Any) -> bool:
    """Return whether an encoded message has a maximum size, which is the case if every text and sequence is bounded."""
    return not any(_is_unbounded(kind) for kind in message.SLOT_TYPES)


def _is_unbounded(kind: Any) -> bool:
    if isinstance(kind, UnboundedSequence | UnboundedString | UnboundedWString):
        return True
    if isinstance(kind, AbstractNestedType):
        return _is_unbounded(kind.value_type)
    return isinstance(kind, NamespacedType) and not is_bounded(class_of("/".join([*kind.namespaces, kind.name])))


def is_same(came: Any, sent: Any) -> bool:
    """Return whether two messages are bitwise equal. By this comparison, a NaN equals the same NaN."""
    if type(came) is not type(sent):
        return False
    if hasattr(came, "get_fields_and_field_types"):
        return all(is_same(getattr(came, name), getattr(sent, name)) for name in came.get_fields_and_field_types())
    if isinstance(came, np.ndarray | array):
        return came.tobytes() == sent.tobytes()
    if isinstance(came, list):
        return len(came) == len(sent) and all(map(is_same, came, sent))
    return struct.pack("d", came) == struct.pack("d", sent) if isinstance(came, float) else bool(came == sent)
