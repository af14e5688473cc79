"""Write files atomically, and explain disk errors."""

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
    """Raised if a file cannot be written, or if a stored file cannot be read."""


class DamagedRunError(StoreError, UsageError):
    """Raised if a directory that the user named is a damaged run or is not a run."""


class DiskFullError(StoreError):
    """Raised if the disk is full; results that were stored earlier remain intact."""


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Raise DamagedRunError if a run folder lacks one or more of the files `names`."""
    for name in names:
        if not (folder / name).is_file():
            remedy = "restore it from a copy, or measure again"
            raise DamagedRunError("E-FILE-MISSING", f"{folder} has no {name}", remedy)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert operating system errors that occur while `path` is written to errors with a remedy."""
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
            "check the permissions of the folder, and the disk",
        ) from cause


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path. When the `with` block ends without an error, the file at the temporary path replaces
    `path`.

    If two programs write a file at the same time, each program uses a temporary file of its own, and the last writer
    wins. If `path` is a link, the link's target is replaced. If `path` is a pipe or a device, `path` itself is yielded
    and written directly.
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
    """Flush a file to disk; call this function before the file is renamed. Some network file systems report a full disk
    only when a file is flushed."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(_utf8(json.dumps(value, indent=2, ensure_ascii=False)))


def append_lines(path: Path, *values: Any) -> None:
    """Append lines of JSON and flush them to disk. If an append fails, the file is truncated to the length before the
    append."""
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
    """Encode a line of JSON. Bytes of a path that are not valid UTF-8 become JSON escapes."""
    return line.encode(errors="backslashreplace") + b"\n"


def _take_back(descriptor: int, length: int) -> None:
    """Truncate a file to `length` bytes, if possible. If truncating fails, the error is ignored, because readers skip
    an incomplete last line."""
    try:
        os.ftruncate(descriptor, length)
    except OSError:
        return
