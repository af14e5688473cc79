"""Stores a frame header in three fields of the transport's own message type: a number, a time and a text.

`label(header)` returns the text, `seq_of(header)` the number, and `sent_of(header)` the time in ns. `header_of(label,
sent_ns, payload_bytes)` restores the header. The instrument implements these four functions once for all languages.
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
    """Return a message's number as a signed 64-bit integer, for a message type whose number field is signed."""
    seq = seq_of(header)
    return seq - (seq >> 63 << 64)


def stamp(header: bytearray) -> tuple[int, int]:
    """Return a frame's sent time as seconds and nanoseconds, as in the time types of ROS, DDS and Thrift."""
    return divmod(sent_of(header), SECOND_NS)


def nanoseconds(time: Any) -> int:
    """Return the value of a ROS, DDS or Thrift time field in nanoseconds."""
    return int(time.sec * SECOND_NS + time.nanosec)


def image_fields(link: Link) -> tuple[int, int, str, int, int]:
    """Return the constant fields of a link's ROS Image: height, width, encoding, `is_bigendian`, and bytes per row.

    Height and width are 0 if the payload is not an image.
    """
    return link.height, link.width, "rgb8", 0, 3 * link.width


def no_payload_field(payload_bytes: int) -> AdapterError:
    """Return the error for a payload on a link with the ROS message type Header, which has no field for a payload."""
    what = f"std_msgs/Header has no field for a payload of {payload_bytes} bytes"
    return AdapterError(what, "use the payload `bytes`, or a payload `timing` without padding")
