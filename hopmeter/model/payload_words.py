"""Format payloads as text, such as `image 640×480` in a title and `an image of 640×480` in a sentence.

Only sizes contain the multiplication sign; the names of files and types are left unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from hopmeter.schemas import SHIPPED, is_message, without_folders
from hopmeter.schemas.payload import KIND, is_ros2, is_shipped_by_ros2
from hopmeter.system import humanize

LENGTHS = re.compile(r"\d+(?:x\d+)*")
FILE = re.compile(r"(?:(?P<size>\d+x\d+):)?(?P<path>.*[./].*)", re.DOTALL)
IN_SENTENCE = {
    "image": "the image {}",
    "video": "frames of {}",
    "file": "the file {}",
}
ARRAY = "an array"
"""The noun for an array with an unknown codec."""
SIZED = {"image": "an image", "frames": "frames", "array": ARRAY}


@dataclass(frozen=True)
class PayloadName:
    """The three parts of a payload's name: the kind of payload, such as an image, the name within that kind, and
    further details."""

    kind: str
    name: str = ""
    detail: str = ""
    """The size of a file's frames or the values of a message, or an empty string if the payload has no such details."""
    is_size: bool = False
    """Whether the name is a size, such as `640×480`."""


def format_lengths(text: str) -> str:
    """Return `640×480` for the size `640x480`, and any other text unchanged."""
    return text.replace("x", "×") if LENGTHS.fullmatch(text) else text


def name_payload(payload: str, with_folder: bool = False) -> str:
    """Return the name of a payload for a title, such as `image 640×480`, `message robot.State` or `timing message`.

    A payload that consists of bytes has an empty name, because such payloads differ only in their size. If the payload
    is a file, its name includes the directory only if `with_folder` is set.
    """
    if payload == "timing":
        return "timing message"
    parts = _parts(payload, with_folder)
    if parts.kind == "bytes":
        return ""
    return " ".join(filter(None, (parts.kind, parts.name))) + (f", {parts.detail}" if parts.detail else "")


def describe_payload(payload: str, with_folder: bool = False, array: str = ARRAY) -> str:
    """Return the name of a payload for a sentence, such as `an image of 640×480` or `a message of 1 kB`.

    `array` contains the words for an array object, such as `a NumPy array`.
    """
    if payload == "timing":
        return "a small message"
    parts = _parts(payload, with_folder)
    detail = f" ({parts.detail})" if parts.detail else ""
    if parts.kind == "bytes":
        return f"a message of {_bytes(parts.name)}"
    if parts.kind == "message":
        owner = "the example" if parts.name in SHIPPED else "the" if is_shipped_by_ros2(payload) else "your"
        return f"{owner} message {parts.name}{detail}"
    if parts.is_size:
        return f"{array if parts.kind == 'array' else SIZED[parts.kind]} of {_shape(parts)}"
    return f"{IN_SENTENCE.get(parts.kind, f'the {parts.kind} {{}}').format(parts.name)}{detail}"


def describe_payloads(payloads: Sequence[str], array: str = ARRAY) -> list[str]:
    """Return distinct names of several payloads, for a sentence. If two of the names would be equal, both names include
    the directory of the file or message."""
    short = [describe_payload(each, array=array) for each in payloads]
    return [
        name if short.count(name) == 1 else describe_payload(payload, True, array)
        for name, payload in zip(short, payloads, strict=True)
    ]


def _shape(parts: PayloadName) -> str:
    """Return an array's shape as text, such as `640×480`, or `6 numbers` for a one-dimensional array."""
    return parts.name if parts.kind != "array" or "×" in parts.name else f"{int(parts.name):,} numbers"


def _bytes(size: str) -> str:
    """Return a size as text, such as `64 bytes`. A size of 1,000 bytes or more is abbreviated, for example to `1
    kB`."""
    if not size.isdecimal():
        return size
    return humanize.byte_size(int(size)) if int(size) >= 1000 else humanize.plural(int(size), "byte")


def _parts(payload: str, with_folder: bool) -> PayloadName:
    kind, _, rest = without_folders(payload).partition(":")
    if is_message(payload):
        return _message(rest, with_folder)
    found = FILE.fullmatch(rest) if kind in IN_SENTENCE else None
    if found is None:
        is_size = kind in SIZED and LENGTHS.fullmatch(rest) is not None
        return PayloadName(kind, format_lengths(rest) if is_size else rest, is_size=is_size)
    return PayloadName(kind, _file(found["path"], with_folder), format_lengths(found["size"] or ""))


def _message(text: str, with_folder: bool) -> PayloadName:
    """Return the three parts of a message payload's name.

    If `with_folder` is set, the name includes the message's file. If the message's values are not the default, the name
    includes the values too.
    """
    file, _, rest = text.partition(":")
    if is_ros2(KIND + text):
        kind, values = "/".join(PurePath(file).with_suffix("").parts[-3:]), rest
        name = file if with_folder else kind
    else:
        kind, _, values = rest.partition(":")
        name = f"{kind} of {file}" if with_folder else kind
    if not kind:
        return PayloadName("message", file)
    lengths = f"lists of {int(values):,}" if values.isdecimal() else ""
    return PayloadName("message", name, lengths or (f"values of {_file(values, with_folder)}" if values else ""))


def _file(path: str, with_folder: bool) -> str:
    return path if with_folder else PurePath(path).name or path
