"""Finds the files and processes that a test leaves outside its folder.

Other tests run at the same time, so a leak is recognised by the id of the run or by the process that had the file open.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
"""Folders in which libraries put files outside the folder of the test."""
CHECKOUT = Path(__file__).resolve().parents[1]
"""This folder may itself be in one of PLACES, with everything that is installed into it."""
STARTS = tuple(f"{place}/" for place in PLACES)
STAYING = ("lttng-ust-wait-",)
"""The beginnings of the names of files that a library creates once for all programs of a user, and never removes."""
PATIENCE_S = 3.0
"""Processes need some time to end and to clean up."""
CLOCK_S = 0.1
"""The time stamp of a file lags behind the clock by less than this."""


class LeakWatch:
    """Records the open files of a test's processes before they end, and afterwards finds the files that are left."""

    def __init__(self, run: str, folder: Path) -> None:
        self._marks = (run, folder.name)
        self._folder = folder
        self._before = set(_entries())
        self._began = time.time() - CLOCK_S
        self._opened: set[Path] = set()

    def record(self, pid: int) -> None:
        """Records which files a process and its children have open; call it before the process ends."""
        for each in (pid, *_children(pid)):
            self._opened.update(path for path in open_files(each) if not {self._folder, CHECKOUT} & set(path.parents))

    def leaks(self) -> list[str]:
        """Everything that is left after a grace period; empty if nothing is left."""
        deadline = time.monotonic() + PATIENCE_S
        while (left := self._find_leaks()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _find_leaks(self) -> list[str]:
        files = [path for path in _entries() if path != self._folder and self._is_marked(path.name)]
        orphans = [path for path in self._opened - self._before if self._is_new(path)]
        held_by_others = {path for pid in _pids() for path in open_files(pid)} if orphans else set()
        files += [path for path in orphans if path not in held_by_others and path not in files]
        sockets = [line.split()[-1] for line in _lines("/proc/net/unix") if "@" in line and self._is_marked(line)]
        return [*map(str, sorted(files)), *sockets, *self._processes()]

    def _is_new(self, path: Path) -> bool:
        """Whether a file exists and is newer than this watch: libraries may be installed in PLACES, too."""
        if path.name.startswith(STAYING):
            return False
        with contextlib.suppress(OSError):
            return path.stat().st_ctime >= self._began
        return False

    def _processes(self) -> Iterator[str]:
        for pid in _pids():
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if self._is_marked(command) or self._is_marked(_target(Path(f"/proc/{pid}/cwd"))):
                    yield f"process {pid}: {command}"

    def _is_marked(self, text: str) -> bool:
        return any(mark in text for mark in self._marks)


def open_files(pid: int) -> set[Path]:
    """The files in PLACES that a process has open or mapped; empty if that information may not be read."""
    names: set[str] = set()
    with contextlib.suppress(OSError):
        names.update(line.split(maxsplit=5)[-1] for line in _lines(f"/proc/{pid}/maps"))
    with contextlib.suppress(OSError):
        names.update(_target(each) for each in Path(f"/proc/{pid}/fd").iterdir())
    return {Path(name) for name in names if name.startswith(STARTS)}


def _target(link: Path) -> str:
    with contextlib.suppress(OSError):
        return str(link.readlink())
    return ""


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())


def _entries() -> Iterator[Path]:
    for place in PLACES:
        with contextlib.suppress(OSError):
            yield from place.iterdir()


def _lines(path: str) -> list[str]:
    return Path(path).read_text(errors="replace").splitlines()
