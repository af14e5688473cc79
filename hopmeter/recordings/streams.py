"""Reads compressed and uncompressed parts of a recording file sequentially, with limited memory."""

from __future__ import annotations

import bz2
import importlib
import io
import os
import sys
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

MOST_BYTES = 1 << 30
"""The maximum total size of all replayed messages in bytes. The size is limited because each sender maps the messages
into its memory."""
BLOCK = 1 << 16
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class DamageError(Exception):
    """Raised for bytes that a recording's format does not allow."""


class CutOffError(DamageError):
    """Raised if a file ends inside a record."""

    def __init__(self, place: int, size: int) -> None:
        super().__init__(f"the record at byte {place:,} continues beyond the end of the file at byte {size:,}")


class UnknownKindError(Exception):
    """Raised for a valid recording of a kind that hopmeter cannot read yet. The text of the error completes the phrase
    "the recording has …"."""


class MissingReaderError(Exception):
    """Raised if a recording needs a Python package that is not installed. The text of the error is the package's
    name."""


def check_length(size: int) -> None:
    """Raise UnknownKindError for a record that exceeds the maximum total size of a replay's messages."""
    if size > MOST_BYTES:
        raise UnknownKindError(f"a record of {size:,} bytes; the most is {MOST_BYTES:,}")


class FileWindow(io.RawIOBase):
    """A part of an open file. Several FileWindow objects can read one file independently."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        self._handle, self._at, self._end = file.fileno(), start, start + length

    def readable(self) -> bool:
        """Return True, because a window can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer, and return the number of bytes, which is 0 at the end of the window."""
        view = memoryview(buffer)
        found = os.pread(self._handle, min(len(view), self._end - self._at), self._at)
        view[: len(found)] = found
        self._at += len(found)
        return len(found)


class RecordFile:
    """A file of records, which is read sequentially and may end inside a record."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, os.fstat(file.fileno()).st_size
        self.notes: list[str] = []
        """Remarks for the user about the file, collected while reading it."""

    def read(self, start: int, length: int, record: int | None = None) -> bytes:
        """Return the `length` bytes that begin at the position `start`.

        If the file is too short, raises a CutOffError that names the position of the enclosing record.
        """
        if start + length > self.size:
            raise CutOffError(start if record is None else record, self.size)
        check_length(length)
        self._file.seek(start)
        return self._file.read(length)

    def window(self, start: int, length: int) -> FileWindow:
        """Return a window of the file."""
        return FileWindow(self._file, start, length)

    def crc(self, start: int, end: int) -> int:
        """Return the CRC-32 of a part of the file."""
        found, content = 0, io.BufferedReader(self.window(start, end - start), BLOCK)
        while block := content.read(1 << 20):
            found = zlib.crc32(block, found)
        return found


class Block:
    """The decompressed content of a chunk, which is read sequentially while its CRC-32 is computed."""

    def __init__(self, content: BinaryIO, size: int) -> None:
        self._content, self.size = content, size
        self.position = self.crc = 0

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes. Raises DamageError if fewer than `size` bytes are left."""
        if size > self.size - self.position:
            raise DamageError(f"a record of {size:,} bytes in a chunk of {self.size:,} bytes")
        check_length(size)
        found = self._content.read(size)
        if len(found) < size:
            raise DamageError(f"a chunk has fewer than the {self.size:,} bytes that it states")
        self.position += size
        self.crc = zlib.crc32(found, self.crc)
        return found

    def check_end(self, crc: int) -> None:
        """Raise DamageError if unread content is left, or if `crc` is not 0 and does not match the content."""
        if self._content.read(1):
            raise DamageError(f"a chunk has more than the {self.size:,} bytes that it states")
        if crc and crc != self.crc:
            raise DamageError(f"a chunk has the CRC {self.crc:08x}, and states {crc:08x}")


def _zstd(raw: io.RawIOBase) -> io.RawIOBase:
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return cast("io.RawIOBase", import_reader(module, "backports.zstd").ZstdFile(io.BufferedReader(raw, BLOCK)))


def _lz4(raw: io.RawIOBase) -> io.RawIOBase:
    return cast("io.RawIOBase", import_reader("lz4.frame").LZ4FrameFile(io.BufferedReader(raw, BLOCK), mode="rb"))


DECOMPRESSORS: dict[str, Callable[[io.RawIOBase], Any]] = {
    "": lambda raw: raw,
    "none": lambda raw: raw,
    "zstd": _zstd,
    "lz4": _lz4,
    "bz2": lambda raw: bz2.BZ2File(cast("BinaryIO", io.BufferedReader(raw, BLOCK))),
}


def open_block(raw: io.RawIOBase, compression: str, size: int) -> Block:
    """Open compressed content of known size. Raises UnknownKindError if the compression is unknown."""
    return Block(decompress(raw, compression), size)


def decompress(raw: io.RawIOBase, compression: str) -> BinaryIO:
    """Open compressed content as a stream. Raises UnknownKindError if the compression is unknown."""
    if compression not in DECOMPRESSORS:
        raise UnknownKindError(f'the compression "{compression}"')
    return cast("BinaryIO", io.BufferedReader(DECOMPRESSORS[compression](raw), BLOCK))


def unpack_message(data: bytes, encoding: str) -> bytes:
    """Return the content of a message, decompressed if necessary.

    rosbag2 may compress each message with zstd; uncompressed CDR never begins with zstd's magic number.
    """
    if encoding != "cdr" or data[:4] != ZSTD_MAGIC:
        return data
    content, found = decompress(cast("io.RawIOBase", io.BytesIO(data)), "zstd"), bytearray()
    while block := content.read(1 << 20):
        found += block
        check_length(len(found))
    return bytes(found)


def import_reader(module: str, package: str = "") -> Any:
    """Import a library that reads recordings.

    Raises MissingReaderError with the package name if the library is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        raise MissingReaderError(package or module.partition(".")[0]) from cause
