"""Writes and reads the header, which is the first frame.

The header consists of a 16-byte prefix and an ASCII JSON body. docs/codecs.md describes the prefix and the body.
"""

from __future__ import annotations

import json
import re
import struct
from json.encoder import encode_basestring_ascii
from typing import Any

from hopmeter.codecs.errors import CodecError

MAGIC = b"HOPC"
VERSION = 1
PREFIX = struct.Struct("<4sBBHII")
"""The prefix: magic, version, flags, reserved (0), number of frames that follow, and length of the body in bytes."""
LENT = 1
"""The only flag: some frames contain memory handles (`cuda.memory`) instead of data.

A reader rejects frames with an unknown flag.
"""
MAX_BODY_BYTES = 16 * 2**20
"""The maximum size of the body, which bounds a reader's memory use. A number of two bytes in the JSON body takes about
300 bytes once parsed."""
MAX_DEPTH = 64
PAIRS = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Matches a surrogate pair: two characters that JSON would read as one character."""


def has_pairs(text: str) -> bool:
    """Return whether the text contains a surrogate pair, which JSON would read as one character."""
    return not text.isascii() and PAIRS.search(text) is not None


def quote(text: str) -> str:
    """Return a name as a JSON string."""
    if has_pairs(text):
        raise CodecError("E-TEXT", f"the name {text[:40]!a} contains a surrogate pair", "decode the text as UTF-16")
    return encode_basestring_ascii(text)


def pack(body: str, frames: int, flags: int = 0) -> bytes:
    """Return a header with the given body, for a message with the given number of further frames."""
    text = body.encode("ascii")
    if len(text) > MAX_BODY_BYTES:
        raise CodecError(
            "E-HEADER-LARGE",
            f"the header would be {len(text)} bytes",
            "send fewer or larger objects: arrays, not lists",
        )
    return PREFIX.pack(MAGIC, VERSION, flags, 0, frames, len(text)) + text


def unpack(header: bytes) -> tuple[Any, int, int]:
    """Return the parsed body of a header, the number of frames that follow, and the flags.

    Raises CodecError if the header is invalid or has an unsupported version.
    """
    if len(header) < PREFIX.size:
        raise CodecError("E-FRAME-LENGTH", f"a header of {len(header)} bytes is truncated")
    magic, version, flags, reserved, frames, size = PREFIX.unpack_from(header)
    if magic != MAGIC:
        raise CodecError("E-HEADER", "this is not a header of hopmeter's codecs")
    if version != VERSION:
        raise CodecError(
            "E-VERSIONS-DIFFER",
            f"the header has version {version}, but this hopmeter reads version {VERSION}",
            "use the same version of hopmeter on both sides",
        )
    if flags & ~LENT or reserved:
        raise CodecError(
            "E-VERSIONS-DIFFER", "the header has unknown flags", "use the same version of hopmeter on both sides"
        )
    if size != len(header) - PREFIX.size or size > MAX_BODY_BYTES:
        raise CodecError(
            "E-FRAME-LENGTH", f"the header's body has {len(header) - PREFIX.size} bytes, but announces {size}"
        )
    return _parse(header[PREFIX.size :]), frames, flags


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as cause:
        raise CodecError("E-HEADER", "the body of the header is not JSON that hopmeter writes") from cause


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
