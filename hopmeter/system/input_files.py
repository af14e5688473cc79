"""Reads files that the user or a run directory from another machine names."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

NOT_REGULAR = "it is not a regular file; copy its content into a file, and name that file"


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file. Raises OSError for a pipe or a device, because reading from a pipe or a device may never
    end.

    The file is opened in non-blocking mode, so that a pipe without a writer does not block the caller.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if (wrong := _why_not_regular(os.fstat(handle).st_mode)) is not None:
        os.close(handle)
        raise OSError(*wrong, str(path))
    return os.fdopen(handle, "rb")


def _why_not_regular(mode: int) -> tuple[int, str] | None:
    if stat.S_ISDIR(mode):
        return errno.EISDIR, os.strerror(errno.EISDIR)
    return None if stat.S_ISREG(mode) else (errno.EINVAL, NOT_REGULAR)


def read_text(path: Path) -> str:
    """Return the UTF-8 text of a regular file. Raises OSError if the file cannot be read, or ValueError if the file is
    not UTF-8."""
    with open_regular(path) as file:
        return file.read().decode()


def read_short_text(path: Path, most_bytes: int) -> str:
    """Return the UTF-8 text of a short file or pipe. Raises ValueError if the text is longer than `most_bytes`."""
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return data.decode()


def read_tail(path: Path, most_bytes: int) -> str:
    """Return the last `most_bytes` of a text file. Bytes that are not valid UTF-8 are replaced."""
    with open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
        return file.read(most_bytes).decode(errors="replace")
