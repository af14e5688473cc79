"""Write files either completely or not at all, and explain disk errors."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
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
    """The disk is full; results that were stored earlier are safe."""


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Raise DamagedRunError if a file of a run is missing."""
    for name in names:
        if not (folder / name).is_file():
            remedy = "restore it from a copy, or measure again"
            raise DamagedRunError("E-FILE-MISSING", f"{folder} has no {name}", remedy)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an error of the operating system while `path` is written into an error with a remedy."""
    try:
        yield
    except OSError as cause:
        if cause.errno in FULL:
            raise DiskFullError(
                "E-DISK-FULL",
                f"the disk is full: {path} could not be written",
                "free space, or name another folder with --out; finished trials are stored, continue with --resume",
            ) from cause
        raise StoreError(
            "E-WRITE-FAILED",
            f"{path} could not be written: {cause.strerror or cause}",
            "check the permissions of the folder, and its disk",
        ) from cause


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the name of a temporary file, which replaces `path` at the end.

    Two programs may write the same file at once: each uses its own temporary name, and the last writer wins. If `path`
    is a link, its target is replaced. A pipe or a device is written directly.
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
    """Flush a file to disk. Some network file systems report a full disk only at this call, and a rename must not reach
    the disk before the content of the file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(_utf8(json.dumps(value, indent=2, ensure_ascii=False)))


def append_lines(path: Path, *values: Any) -> None:
    """Append lines of JSON and flush them to disk; if they do not fit on the disk, they are removed again."""
    line = b"".join(_utf8(json.dumps(value, ensure_ascii=False)) for value in values)
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
    """Try to truncate a file; a failure does not matter, because readers skip an incomplete last line."""
    try:
        os.ftruncate(descriptor, length)
    except OSError:
        return
