"""Typed carriage: how a header travels in the fields of a real message: a number, a time and a text.

`label(header)` is the part for the text, `seq_of(header)` the number, `sent_of(header)` the time (ns);
`header_of(label, sent_ns, payload_bytes)` is the header again. The instrument implements all of them once for every
language; docs/adding-a-transport.md lists which field holds which part.
"""

from __future__ import annotations

from typing import Any

from hopmeter._instrument import header_of, label, sent_of, seq_of
from hopmeter.node.contract import AdapterError, Setup

__all__ = [
    "header_of",
    "image_fields",
    "label",
    "nanoseconds",
    "no_payload_field",
    "sent_of",
    "seq_of",
    "signed_seq",
    "stamp",
]

SECOND_NS = 1_000_000_000


def signed_seq(header: bytearray) -> int:
    """Return the number of a message, for a field of 64 bits with a sign."""
    seq = seq_of(header)
    return seq - (seq >> 63 << 64)


def stamp(header: bytearray) -> tuple[int, int]:
    """Return when a frame was sent, as seconds and nanoseconds: the two fields of a time in ROS, DDS and Thrift."""
    return divmod(sent_of(header), SECOND_NS)


def nanoseconds(time: Any) -> int:
    """Return a time of such a message, in nanoseconds."""
    return int(time.sec * SECOND_NS + time.nanosec)


def image_fields(setup: Setup) -> tuple[int, int, str, int, int]:
    """Return the fields of ROS's Image that are the same for a whole trial: height, width, encoding, whether it is
    big-endian, and the bytes of a row. Bytes that are no image have height and width 0."""
    return setup.height, setup.width, "rgb8", 0, 3 * setup.width


def no_payload_field(payload_bytes: int) -> AdapterError:
    """Return the error for a payload if ROS's Header is the message."""
    what = f"std_msgs/Header has no field for a payload of {payload_bytes} bytes"
    return AdapterError(what, "use the payload `bytes`, or timing without padding")
