"""Writing so that a file is either whole or not there, and errors that say what to do about the disk."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hopmeter.errors import HopmeterError

FULL = (errno.ENOSPC, errno.EDQUOT)


class StoreError(HopmeterError):
    """Something could not be kept, or what was kept cannot be read."""


class DiskFullError(StoreError):
    """Nothing more can be kept; what was finished stays."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the operating system says while `path` is written into an error with a remedy."""
    try:
        yield
    except OSError as cause:
        if cause.errno in FULL:
            raise DiskFullError(
                f"the disk is full: {path} could not be written",
                "free space, or give another place with --out; finished trials are kept, go on with --resume",
            ) from cause
        raise StoreError(
            f"{path} could not be written: {cause.strerror or cause}", "check the folder's permissions and its disk"
        ) from cause


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a temporary name beside `path` that takes its place when everything was written.

    Two programs may write the same file at once: each has a name of its own, and the last to end has the file.
    A link stays one: what it points to is replaced. A pipe or a device is written into, for nothing could replace it.
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
    """Full disks of network file systems say so only here; a rename must not be kept before its content."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_json(path: Path, value: Any) -> None:
    """Writes JSON for people to read, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(_utf8(json.dumps(value, indent=2, ensure_ascii=False)))


def append_line(path: Path, value: Any) -> None:
    """Adds one JSON line, on disk when this returns; a line that did not fit is taken back."""
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
    """A line of JSON. Bytes of a path that are no UTF-8 stand in it as escapes, which JSON knows."""
    return line.encode(errors="backslashreplace") + b"\n"


def _take_back(descriptor: int, length: int) -> None:
    """Best effort: a reader skips a torn last line anyway."""
    try:
        os.ftruncate(descriptor, length)
    except OSError:
        return
