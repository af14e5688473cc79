"""Determines which process owns a directory, and whether that process is still running.

The owner locks its directory. When the owner's process ends for any reason, the kernel releases the lock. Every process
on the machine that sees the directory also sees the lock, even from another PID or time namespace. A process on another
host cannot see the lock, so it never removes the directory.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hopmeter.system.processes import boot_id, start_ticks

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
NAMESPACES = ("pid", "time", "mnt")
_held: dict[Path, int] = {}


@dataclass(frozen=True)
class Owner:
    """Identifies a process uniquely, even for processes on other hosts."""

    pid: int
    started: int
    """The owner's start time in clock ticks since boot, because the kernel may reuse the pid for another process."""
    host: str
    machine: str
    """The machine id, which distinguishes hosts with the same host name."""
    boot: str
    namespaces: str

    def __str__(self) -> str:
        return f"process {self.pid} on host {self.host}"

    @property
    def is_on_this_host(self) -> bool:
        """Return whether the owner runs on this host, so that the current process can see the owner's locks."""
        return (self.host, self.machine) == (os.uname().nodename, _machine_id())

    @property
    def shares_namespaces(self) -> bool:
        """Return whether the owner's process ids, start times and paths are also valid for the current process."""
        return self.boot == boot_id() and self.namespaces != "" and self.namespaces == _namespaces()

    def may_run(self, folder: Path) -> bool:
        """Return whether the owner of `folder` may still be running.

        Return False only if the owner has certainly ended.
        """
        if not self.is_on_this_host:
            return True
        locked = _is_locked(folder)
        return self._may_run_elsewhere() if locked is None else locked

    def _may_run_elsewhere(self) -> bool:
        """Return whether the owner may still be running, without testing the lock of the owner's directory.

        Call this method for a directory that the current process cannot see.
        """
        if self.boot != boot_id():
            return False
        return not self.shares_namespaces or start_ticks(self.pid) == self.started

    @contextmanager
    def take_over(self, folder: Path) -> Iterator[bool]:
        """Lock a directory, and yield whether the directory's owner has ended.

        Inside the `with` block, no other process can take over the locked directory.
        """
        try:
            handle = _lock(folder, FOLDER, fcntl.LOCK_EX) if self.is_on_this_host else None
        except FileNotFoundError:
            yield not self._may_run_elsewhere()
            return
        except OSError:
            handle = None
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)


def this_process() -> Owner:
    """Return the `Owner` that identifies the current process."""
    return _describe(os.getpid())


@cache
def _describe(pid: int) -> Owner:
    return Owner(pid, start_ticks(pid) or 0, os.uname().nodename, _machine_id(), boot_id(), _namespaces())


def hold(path: Path, flags: int = FOLDER) -> int:
    """Lock a path until `release` is called or the current process ends, and return the path's file descriptor.

    Raises BlockingIOError if another process has locked the path.
    """
    _held[path] = _lock(path, flags, fcntl.LOCK_EX)
    return _held[path]


def release(path: Path) -> None:
    """Unlock a path if the current process holds the lock."""
    if (handle := _held.pop(path, None)) is not None:
        os.close(handle)


def _let_go_after_fork() -> None:
    """Release the locks of the parent process in a forked child process. Otherwise, the child process might hold these
    locks longer than the parent process."""
    for path in list(_held):
        release(path)


os.register_at_fork(after_in_child=_let_go_after_fork)


def _lock(path: Path, flags: int, how: int) -> int:
    """Open and lock a file, and return the file's descriptor.

    Raises FileNotFoundError if the path no longer refers to the opened file. Raises BlockingIOError if another process
    has locked the file.
    """
    handle = os.open(path, flags, 0o600)
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), path.stat()):
            raise FileNotFoundError(path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_locked(folder: Path) -> bool | None:
    """Return whether a directory is locked, or None if the current process cannot see the directory.

    If the lock of a directory cannot be tested, the directory counts as locked.
    """
    try:
        os.close(_lock(folder, FOLDER, fcntl.LOCK_SH))
    except FileNotFoundError:
        return None
    except OSError:
        return True
    return False


@cache
def _machine_id() -> str:
    with suppress(OSError):
        return Path("/etc/machine-id").read_text().strip()
    return ""


def _namespaces() -> str:
    """Return the ids of the current process's namespaces, or an empty string if /proc belongs to another PID
    namespace."""
    with suppress(OSError):
        own = Path("/proc/self")
        if str(own.readlink()) == str(os.getpid()):
            return " ".join(str((own / "ns" / kind).readlink()) for kind in NAMESPACES)
    return ""
