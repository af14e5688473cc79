"""Finds the files that some settings have as values, such as middleware profiles."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from hopmeter.errors import RefusedValueError
from hopmeter.system.input_files import open_regular

MOST_BYTES = 1 << 20
TEXT = "text"
"""The name that results show if a value is the content of the file itself."""


def find(value: str, text: str) -> str:
    """Return a file's absolute path, or `value` itself if it begins with `text`.

    Raises RefusedValueError if the file cannot be read.
    """
    if text and value.lstrip().startswith(text):
        return value
    path = Path(value).expanduser().absolute()
    _content(path)
    return str(path)


def label(value: str, text: str) -> str:
    """Return a file's name and a hash of its content, without spaces, such as `profiles.xml#1a2b3c4d`."""
    is_text = bool(text) and value.lstrip().startswith(text)
    content = value.encode() if is_text else _content(Path(value))
    name = TEXT if is_text else "_".join(Path(value).name.split())
    return f"{name}#{blake2b(content, digest_size=4).hexdigest()}"


def _content(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as cause:
        raise RefusedValueError("E-FILE-UNREADABLE", f"{path} cannot be read: {cause.strerror}") from cause
    if len(content) > MOST_BYTES:
        raise RefusedValueError("E-FILE-UNREADABLE", f"{path} has more than {MOST_BYTES:,} bytes")
    return content
