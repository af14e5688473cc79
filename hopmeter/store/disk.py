"""Write files completely or not at all, and explain disk errors."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hopmeter.errors import HopmeterError, UsageError

FULL = (errno.ENOSPC, errno.EDQUOT)


class StoreError(HopmeterError):
    """A file cannot be written, or a stored file cannot be read."""


class DamagedRunError(StoreError, UsageError):
    """A run that the user named is damaged, or is no run."""


class DiskFullError(StoreError):
    """The disk is full; earlier results are safe."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an operating-system error while `path` is written into an error with a remedy."""
    try:
        yield
    except OSError as cause:
        if cause.errno in FULL:
            raise DiskFullError(
                "E-DISK-FULL",
                f"the disk is full: {path} could not be written",
                "free space, or name another place with --out; finished trials are stored, continue with --resume",
            ) from cause
        raise StoreError(
            "E-WRITE-FAILED",
            f"{path} could not be written: {cause.strerror or cause}",
            "check the folder's permissions and its disk",
        ) from cause


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name that replaces `path` at the end.

    Two programs may write the same file at once: each uses its own temporary name, and the last one wins. If `path` is
    a link, its target is replaced. A pipe or a device is written directly.
    """
    if path.exists() and not path.is_file():
        with writing(path):
            yield path
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with writing(path):
            yield temporary
            _flush(temporary)
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Flush a file to disk. Network file systems report a full disk only here, and a rename must not reach the disk
    before the content."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(_utf8(json.dumps(value, indent=2, ensure_ascii=False)))


def append_line(path: Path, value: Any) -> None:
    """Append one JSON line and flush it to disk; a line that does not fit is removed again."""
    line = _utf8(json.dumps(value, ensure_ascii=False))
    with writing(path), path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            written = file.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError:
            _take_back(file.fileno(), before)
            raise


def _utf8(line: str) -> bytes:
    """Encode a line of JSON. Bytes of a path that are not UTF-8 become JSON escapes."""
    return line.encode(errors="backslashreplace") + b"\n"


def _take_back(descriptor: int, length: int) -> None:
    """Truncate a file, as best effort: readers skip a torn last line anyway."""
    try:
        os.ftruncate(descriptor, length)
    except OSError:
        return
