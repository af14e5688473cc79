"""Parse quantities from scenarios, such as `30s`, `image:1440x1080`, `copy:1000` or `sleep:30ms/40ms/50ms`."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from hopmeter.errors import RefusedValueError
from hopmeter.images import PictureError, parse_source
from hopmeter.messages import split_code
from hopmeter.schemas.payload import is_message, parse_message
from hopmeter.system.input_files import open_regular

WAYS = ("memcpy", "stream", "rep", "bytes", "own")
"""The methods by which a receiver copies, default first. instrument/src/copying.rs defines them."""
DESTINATIONS = ("warm", "cold", "fresh")
"""The kinds of destination of a copy, default first."""
FULL_WORK = re.compile("none$|sleep:|spin:|copy:")
"""Matches a list item that names its own kind of work."""
MOST_S = 1e9
"""The longest allowed time in seconds. A longer time is probably a typing error, and would exceed the range of the
nodes' nanoseconds."""
MOST_COPY_BYTES = 1 << 40
MOST_TRAFFIC = 1e12
"""The maximum memory traffic in bytes per second. No machine can copy faster than this."""
MOST_FILE_BYTES = 1 << 30
"""The maximum size of a payload file. Each node loads the whole file, and no transport carries larger payloads."""
UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}


def seconds(text: str) -> float:
    """Parse a duration and return it in seconds. Raises a ValueError that explains how to write a duration."""
    return nanoseconds(text) / 1e9


def nanoseconds(text: str) -> int:
    """Parse a duration and return it in nanoseconds. Raises a ValueError that explains how to write a duration."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m)", text)
    if not found:
        raise RefusedValueError(
            "E-VALUE-FORM", f'"{text}" is not a duration; write a number and ns, us, ms, s or m, such as 30s'
        )
    value_ns = float(found[1]) * UNITS_NS[found[2]]
    if value_ns > MOST_S * 1e9:
        raise RefusedValueError("E-VALUE-RANGE", f'"{text}" is longer than {MOST_S:,.0f} s')
    return round(value_ns)


def span_ns(text: str) -> int:
    """Parse a positive duration and return it in nanoseconds. Raises a ValueError that explains how to write a
    duration."""
    if not (value_ns := nanoseconds(text)):
        raise RefusedValueError("E-VALUE-RANGE", f'"{text}" is too short; write a time longer than 0, such as 30s')
    return value_ns


def percent(text: str) -> float:
    """Parse a share of a core's time, such as `50%`, and return the share in percent. The share must be greater than 0
    % and at most 100 %. Raises a ValueError that explains how to write a share."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if not found:
        raise RefusedValueError("E-VALUE-FORM", f'"{text}" is not a percentage; write a number and %, such as 50%')
    if not 0 < (value := float(found[1])) <= 100:
        raise RefusedValueError("E-VALUE-RANGE", f'"{text}" is not above 0% and at most 100%, which is a whole core')
    return value


def bytes_per_second(text: str) -> float:
    """Parse a memory bandwidth such as `2GB/s` or `500MB/s`, and return it in bytes per second. Raises a ValueError
    that explains how to write a bandwidth."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([MG])B/s", text)
    if not found:
        said = f'"{text}" is not an amount of memory traffic; write a number and MB/s or GB/s, such as 2GB/s'
        raise RefusedValueError("E-VALUE-FORM", said)
    value = float(found[1]) * {"M": 1e6, "G": 1e9}[found[2]]
    if not 0 < value <= MOST_TRAFFIC:
        raise RefusedValueError("E-VALUE-RANGE", f'"{text}" is not above 0 and at most {MOST_TRAFFIC / 1e9:g}GB/s')
    return value


def payload_bytes(text: str) -> int:
    """Return the size of a payload in bytes, without the 64-byte header of the frame. A `timing` message consists of
    only the header."""
    if path := payload_file(text):
        return _size(path)
    if is_message(text):
        parse_message(text)
        return 0  # the codec determines the size
    if size := frame_size(text):
        return size[0] * size[1] * 3
    if text == "timing":
        return 0
    if found := re.fullmatch(r"bytes:(\d+)", text):
        return int(found[1])
    if found := re.fullmatch(r"image:(\d+)x(\d+)", text):
        if not (pixels := int(found[1]) * int(found[2])):
            raise RefusedValueError("E-VALUE-RANGE", f'"{text}" has no pixels; an image is at least 1x1')
        return pixels * 3
    if found := re.fullmatch(r"array:(\d+(?:x\d+)*)", text):
        return math.prod(map(int, found[1].split("x"))) * 8
    raise RefusedValueError(
        "E-VALUE-FORM",
        f'"{text}" is not a payload; write timing, bytes:N, image:WIDTHxHEIGHT (rgb8), file:PATH (its bytes), '
        "image:PATH or video:PATH (its pixels), or with a codec array:LENGTHxLENGTH, message:FILE:TYPE (a message of "
        "your own schema) or message:PACKAGE/msg/TYPE (of ROS 2), such as bytes:1000",
    )


def payload_file(text: str) -> Path | None:
    """Return the absolute path of the file whose bytes a payload consists of, or None if the payload has no such
    file."""
    kind, _, path = text.partition(":")
    return Path(path).expanduser().absolute() if kind == "file" and path else None


def frame_size(text: str) -> tuple[int, int] | None:
    """Return the width and height of the frames in the image or video file that a payload names, or None if it names no
    such file."""
    source = parse_source(text)
    if source is None:
        return None
    from hopmeter.images import decoded  # imported lazily, because few scenarios need it

    try:
        return decoded.size_of(source)
    except PictureError as wrong:
        raise RefusedValueError(wrong.code, f"the payload {split_code(str(wrong))[0]}") from wrong


def object_of(text: str) -> str:
    """Return the payload specification from which a codec creates its object. If the payload is an image or video file,
    the specification describes a generated image or video of the same size."""
    size = frame_size(text)
    return f"{'image' if text.startswith('image') else 'frames'}:{size[0]}x{size[1]}" if size else text


def _size(path: Path) -> int:
    try:
        with open_regular(path) as file:
            size = file.seek(0, os.SEEK_END)
    except OSError as cause:
        raise RefusedValueError("E-FILE-UNREADABLE", f"the payload {path} cannot be read: {cause.strerror}") from cause
    if size > MOST_FILE_BYTES:
        raise RefusedValueError(
            "E-VALUE-RANGE", f"the payload {path} has {size:,} bytes; choose a file of at most {MOST_FILE_BYTES:,}"
        )
    return size


def payload(text: str) -> dict[str, str | int]:
    """Convert a payload to the format of a node's spec file. Raises a ValueError that explains how to write a
    payload."""
    payload_bytes(text)
    kind, _, size = text.partition(":")
    if shown := frame_size(text):
        return {"kind": "image", "width": shown[0], "height": shown[1]}
    if kind != "image":
        return {"kind": "bytes" if kind == "file" else kind}
    width, height = size.split("x")
    return {"kind": kind, "width": int(width), "height": int(height)}


def works(text: str) -> list[dict[str, str | int]]:
    """Convert the work for each message to the format of a node's spec file. The returned list has one item for all
    receivers, or one item for each server or sink.

    If an item does not name a kind of work, such as `sleep`, it has the kind of the first item.
    """
    if "/" not in text:
        return [work(text)]
    kind, _, _ = text.partition("/")[0].partition(":")
    each = text.removeprefix(f"{kind}:").split("/")
    return [work(one if FULL_WORK.match(one) else f"{kind}:{one}", text) for one in each]


def work(text: str, whole: str = "") -> dict[str, str | int]:
    """Convert the work that one server does for each message to the format of a node's spec file. `whole` is the text
    that describes the work of all servers; error messages quote this text."""
    kind, _, amount = text.partition(":")
    if text == "none":
        return {"kind": "none"}
    if kind in ("sleep", "spin"):
        return {"kind": kind, "ns": nanoseconds(amount)}
    if kind == "copy":
        return _copy(amount)
    raise RefusedValueError(
        "E-VALUE-FORM",
        f'"{whole or text}" is not a work; write none, sleep:TIME, spin:TIME or copy:BYTES, such as sleep:1ms, '
        "or one for each server or sink: sleep:30ms/40ms/50ms or copy:frame/none",
    )


def _copy(amount: str) -> dict[str, str | int]:
    """Parse the description of a copy: the number of bytes (or `frame`, the received payload), the method and the
    destination. If the method or the destination is not given, it is omitted from the spec, because the nodes know the
    defaults."""
    found = re.fullmatch(rf"(\d+|frame)(?::({'|'.join(WAYS)}))?(?::({'|'.join(DESTINATIONS)}))?", amount)
    if not found:
        raise RefusedValueError(
            "E-VALUE-FORM",
            f'"copy:{amount}" is not a copy; write copy:BYTES or copy:frame, then the method ({", ".join(WAYS)}) '
            f"and the destination ({', '.join(DESTINATIONS)}), such as copy:frame:rep:cold",
        )
    size, way, into = found.groups()
    if size != "frame" and int(size) > MOST_COPY_BYTES:
        raise RefusedValueError(
            "E-VALUE-RANGE", f'"copy:{amount}" copies more than the maximum of {MOST_COPY_BYTES} bytes'
        )
    told: dict[str, str | int] = {"kind": "copy"} | ({} if size == "frame" else {"bytes": int(size)})
    return told | ({"way": way} if way else {}) | ({"into": into} if into else {})


def works_ns(text: str, many: int) -> list[int] | None:
    """Return how long, in nanoseconds, each of `many` servers or sinks works on a message. Return None if any work is a
    copy, whose duration is unknown, or if no work has a duration."""
    each = works(text)
    if any(one["kind"] == "copy" for one in each):
        return None
    asked = [int(one["ns"]) for one in each if "ns" in one]
    return asked * (many if len(each) == 1 else 1) or None
