"""Typed carriage: how a header is stored in fields of a real message: a number, a time and a text.

`label(header)` returns the part for the text, `seq_of(header)` the number, and `sent_of(header)` the time (ns);
`header_of(label, sent_ns, payload_bytes)` restores the header. The instrument implements these functions once for every
language; docs/adding-a-transport.md lists the field for each part.
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
"""The length of a label."""


def signed_seq(header: bytearray) -> int:
    """Return the number of a message, for a signed field of 64 bits."""
    seq = seq_of(header)
    return seq - (seq >> 63 << 64)


def stamp(header: bytearray) -> tuple[int, int]:
    """Return when a frame was sent, as seconds and nanoseconds: the two fields of a time in ROS, DDS and Thrift."""
    return divmod(sent_of(header), SECOND_NS)


def nanoseconds(time: Any) -> int:
    """Return the time stamp of such a message, in nanoseconds."""
    return int(time.sec * SECOND_NS + time.nanosec)


def image_fields(link: Link) -> tuple[int, int, str, int, int]:
    """Return the fields of ROS's Image that stay the same on a link: height, width, encoding, `is_bigendian`,
    and the bytes of a row. For a payload that is no image, height and width are 0."""
    return link.height, link.width, "rgb8", 0, 3 * link.width


def no_payload_field(payload_bytes: int) -> AdapterError:
    """Return the error for a payload when the message type is ROS's Header."""
    what = f"std_msgs/Header has no field for a payload of {payload_bytes} bytes"
    return AdapterError(what, "use the payload `bytes`, or timing without padding")
