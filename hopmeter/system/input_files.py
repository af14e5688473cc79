"""Files that a user, or a folder from somebody else, names for hopmeter to read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

NOT_REGULAR = "it is no regular file; copy what it gives into a file, and name that one"


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file. OSError for a pipe or a device too: reading those may never end.

    Opening without waiting matters for a pipe that nobody writes to.
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
    """The text of a regular file, which is UTF-8. OSError, or ValueError where it is none."""
    with open_regular(path) as file:
        return file.read().decode()


def read_short_text(path: Path, most_bytes: int) -> str:
    """The UTF-8 text of a file or a pipe; ValueError where it does not end within so many bytes."""
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"it holds more than {most_bytes:,} bytes")
    return data.decode()
