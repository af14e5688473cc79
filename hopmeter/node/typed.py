"""Stores a frame header in three fields of the transport's own message type: a number field, a time field and a text
field.

`label(header)` returns the value of the text field, `seq_of(header)` the number, and `sent_of(header)` the time in
nanoseconds. `header_of(label, sent_ns, payload_bytes)` restores the header from the fields. The instrument implements
these four functions once for all languages.
"""

from __future__ import annotations

from typing import Any

from hopmeter._instrument import header_of, is_checked, label, sent_of, seq_of
from hopmeter.node.contract import AdapterError, Link

__all__ = [
    "LABEL_BYTES",
    "SECOND_NS",
    "header_of",
    "image_fields",
    "is_checked",
    "label",
    "nanoseconds",
    "no_payload_field",
    "sent_of",
    "seq_of",
    "signed_seq",
    "stamp",
]

SECOND_NS = 1_000_000_000
LABEL_BYTES = 56
"""The length of a label in bytes."""


def signed_seq(header: bytearray) -> int:
    """Return the number of a message as a signed 64-bit integer, for message types whose number field is signed."""
    seq = seq_of(header)
    return seq - (seq >> 63 << 64)


def stamp(header: bytearray) -> tuple[int, int]:
    """Return the sent time of a frame in seconds and nanoseconds, as the time types of ROS, DDS and Thrift store it."""
    return divmod(sent_of(header), SECOND_NS)


def nanoseconds(time: Any) -> int:
    """Convert the time field of a ROS, DDS or Thrift message to nanoseconds."""
    return int(time.sec * SECOND_NS + time.nanosec)


def image_fields(link: Link) -> tuple[int, int, str, int, int]:
    """Return those fields of a ROS Image that are constant on a link: height, width, encoding, `is_bigendian`, and
    bytes per row.

    Height and width are 0 if the payload is not an image.
    """
    return link.height, link.width, "rgb8", 0, 3 * link.width


def no_payload_field(payload_bytes: int) -> AdapterError:
    """Return the error that is raised if a link uses the ROS message type Header, which has no payload field, but has
    to carry a payload."""
    what = f"std_msgs/Header has no field for a payload of {payload_bytes} bytes"
    return AdapterError(what, "use the payload `bytes`, or a payload `timing` without padding")
