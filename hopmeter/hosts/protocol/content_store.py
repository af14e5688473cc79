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
    """Yield the content of a file in base64 pieces that each fit into one message."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield encode(piece)


def encode(piece: bytes) -> str:
    """Return bytes encoded as base64, for use in messages."""
    return base64.b64encode(piece).decode()


def decode(text: str) -> bytes:
    """Decode a base64 text, and return the bytes. Raises ValueError if the text is not base64."""
    return base64.b64decode(text, validate=True)


class ContentStore:
    """The received files. Each file is named after its content hash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Return the path of the file that has the given content hash. Raises ValueError if the file has not arrived
        from the coordinator."""
        path = self._folder / name
        if not path.is_file():
            raise ValueError(f"the file {name} has not arrived")
        return path

    def has(self, name: str) -> bool:
        """Return whether a file with this content hash has arrived."""
        return (self._folder / name).is_file()

    def add(self, name: str, piece: bytes, is_last: bool) -> None:
        """Append a piece to a file. Raises ValueError if the file is complete and its content does not match the hash
        that is its name."""
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
