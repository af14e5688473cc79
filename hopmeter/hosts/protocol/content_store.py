"""Files that a coordinator sends to an agent, stored under their content hash."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

PIECE_BYTES = 512 << 10
"""The maximum number of file bytes in one message."""


def content_hash(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pieces(path: Path) -> Iterator[str]:
    """Yield a file's content as base64 pieces, one for each message."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield encode(piece)


def encode(piece: bytes) -> str:
    """Return bytes encoded as base64, for use in messages."""
    return base64.b64encode(piece).decode()


def decode(text: str) -> bytes:
    """Return the bytes of a base64 text. Raises ValueError if the text is not base64."""
    return base64.b64decode(text, validate=True)


class ContentStore:
    """The received files. Each file is named after its content hash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Return the path of a file by its hash. Raises ValueError if the file has not arrived."""
        path = self._folder / name
        if not path.is_file():
            raise ValueError(f"the file {name} has not arrived")
        return path

    def has(self, name: str) -> bool:
        """Return whether a file with this hash has arrived."""
        return (self._folder / name).is_file()

    def add(self, name: str, piece: bytes, is_last: bool) -> None:
        """Append a piece to a file. Raises ValueError if the content of the complete file does not match its hash."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        part = self._folder / f"{name}.part"
        with part.open("ab") as file:
            file.write(piece)
        if not is_last:
            return
        if content_hash(part) != name:
            part.unlink()
            raise ValueError(f"the file {name} has content that does not match its name")
        part.rename(self._folder / name)
