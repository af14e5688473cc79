"""Files that a coordinator sends to an agent, by the hash of their content."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

PIECE_BYTES = 512 << 10
"""How much of a file travels in one message."""


def content_hash(path: Path) -> str:
    """Return the hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pieces(path: Path) -> Iterator[str]:
    """Yield the content of a file as messages carry it."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield encode(piece)


def encode(piece: bytes) -> str:
    """Return bytes as a message carries them."""
    return base64.b64encode(piece).decode()


def decode(text: str) -> bytes:
    """Return the bytes of a message. Raises ValueError for a text that is no such piece."""
    return base64.b64decode(text, validate=True)


class ContentStore:
    """The files that have arrived; each has its hash as its name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Return the path of a file. Raises ValueError if it has not arrived."""
        path = self._folder / name
        if not path.is_file():
            raise ValueError(f"the file {name} has not arrived")
        return path

    def has(self, name: str) -> bool:
        """Return whether a file has arrived."""
        return (self._folder / name).is_file()

    def add(self, name: str, piece: bytes, is_last: bool) -> None:
        """Append a piece of a file. Raises ValueError if the whole file has other content than its name says."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        part = self._folder / f"{name}.part"
        with part.open("ab") as file:
            file.write(piece)
        if not is_last:
            return
        if content_hash(part) != name:
            part.unlink()
            raise ValueError(f"the file {name} has other content than its name says")
        part.rename(self._folder / name)
