"""Finds and removes files that a transport's library names itself, such as Fast DDS's shared-memory files.

A manifest lists path patterns for files whose names the transport's library chooses. hopmeter records the matching
files that a node has open, and later removes those that no process uses. A process uses a file as long as the process
has the file open or mapped.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Patterns = Mapping[str, Sequence[str]]
"""Maps each path pattern to the files that belong to a matching file. `{name}` stands for the matching file's name."""


@dataclass(frozen=True)
class OpenFile:
    """A file that a process has opened, and the companion files that belong to this file."""

    path: str
    device: int
    inode: int
    companions: tuple[str, ...] = ()
    """The paths of the companion files. Companion files may be missing, and need not be open while the file itself is
    in use."""

    @classmethod
    def find(cls, path: str, patterns: Patterns) -> Self | None:
        """Return the file at a path, or None if there is no such file or the path matches no pattern."""
        pattern = next((each for each in patterns if fnmatchcase(path, each)), None)
        found = _status(path)
        if pattern is None or found is None:
            return None
        companions = (each.replace("{name}", Path(path).name) for each in patterns[pattern])
        return cls(path, found.st_dev, found.st_ino, tuple(companions))

    @classmethod
    def parse(cls, fields: Any) -> Self:
        """Return the file that an entry of a note describes.

        Raises ValueError, TypeError or KeyError if the entry is invalid.
        """
        path, companions = str(fields["path"]), tuple(map(str, fields["companions"]))
        return cls(path, int(fields["device"]), int(fields["inode"]), companions)

    @property
    def is_there(self) -> bool:
        """Return whether the path of the file still refers to the original file."""
        found = _status(self.path)
        return found is not None and (found.st_dev, found.st_ino) == (self.device, self.inode)

    @property
    def present(self) -> list[str]:
        """Return those paths of the file and its companions that exist."""
        return [path for path in (self.path, *self.companions) if _status(path) is not None]


def to_json(files: Iterable[OpenFile]) -> list[dict[str, Any]]:
    """Return files as JSON objects, which become part of a note for another process."""
    return [asdict(file) for file in files]


class OpenFiles:
    """The files that the observed processes have opened since this OpenFiles object was created."""

    def __init__(self, patterns: Patterns, not_of: int | None = None) -> None:
        """Ignore files that other programs have left behind, and files that the process `not_of` already has open."""
        self._patterns = patterns
        present = self._find(_matching(patterns))
        self._foreign = present - _used(present)
        if not_of is not None and patterns:
            self._foreign |= self._find(_paths(not_of))
        self.files: set[OpenFile] = set()

    def note(self, pid: int) -> bool:
        """Record the files that a process has open, and return whether any of these files is new."""
        new = self._find(_paths(pid) if self._patterns else ()) - self._foreign - self.files
        self.files |= new
        return bool(new)

    def _find(self, paths: Iterable[str]) -> set[OpenFile]:
        return {file for path in paths if (file := OpenFile.find(path, self._patterns))}


def remove_unused(files: Iterable[OpenFile]) -> list[str]:
    """Remove the given files that belong to the current user and that no process uses. Return the removed paths.

    A file and its companions are not removed if another process has any of them open, mapped or locked. The files stay
    locked while they are removed. A process that locks files before use can therefore not start to use a file that is
    being removed.
    """
    removed: list[str] = []
    with _Locks() as locks:
        free = {file for file in set(files) if file.is_there and all(map(locks.take, file.present))}
        for file in sorted(free - _used(free, locks.handles), key=lambda each: each.path):
            for path in file.present:
                with contextlib.suppress(OSError):
                    Path(path).unlink()
                    removed.append(path)
    return removed


class _Locks:
    """Locks on files of the current user, held until the `with` block ends."""

    def __init__(self) -> None:
        self._by_path: dict[str, int | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self.handles:
            os.close(handle)

    @property
    def handles(self) -> set[int]:
        """Return the file descriptors of the locked files."""
        return {handle for handle in self._by_path.values() if handle is not None}

    def take(self, path: str) -> bool:
        """Lock a file, and return whether the current process holds the lock. Files that belong to other users cannot
        be locked."""
        if path not in self._by_path:
            self._by_path[path] = _lock(path)
        return self._by_path[path] is not None


def _lock(path: str) -> int | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    except OSError:
        pass  # another process has locked the file
    os.close(handle)
    return None


def _used(files: Iterable[OpenFile], own: AbstractSet[int] = frozenset()) -> set[OpenFile]:
    """Return the files that a process has open or mapped, either directly or through a companion file.

    `own` contains file descriptors of the current process, which are ignored.
    """
    by_path: dict[str, set[OpenFile]] = {}
    for file in files:
        for path in file.present:
            by_path.setdefault(path, set()).add(file)
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()) if by_path else ()
    paths = (path for pid in pids for path in _paths(pid, own if pid == os.getpid() else frozenset()))
    return {file for path in paths for file in by_path.get(path, ())}


def _status(path: str) -> os.stat_result | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _matching(patterns: Patterns) -> Iterator[str]:
    return (str(path) for pattern in patterns for path in Path("/").glob(pattern.lstrip("/")))


def _paths(pid: int, own: AbstractSet[int] = frozenset()) -> set[str]:
    """Return the paths of the files that a process has open or mapped; the file descriptors `own` are ignored.

    Return an empty set if /proc denies access. For a removed file, /proc shows a different path than before the
    removal.
    """
    found: set[str] = set()
    with contextlib.suppress(OSError):
        fields = (line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines())
        found |= {os.fsdecode(each[5]) for each in fields if len(each) == 6 and each[5].startswith(b"/")}
    with contextlib.suppress(OSError):
        found |= {_target(link) for link in Path(f"/proc/{pid}/fd").iterdir() if int(link.name) not in own}
    return found


def _target(link: Path) -> str:
    with contextlib.suppress(OSError):
        return str(link.readlink())
    return ""
