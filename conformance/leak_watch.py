"""Find the files and processes that a test leaves outside its folder.

Other tests run concurrently, so the run id or the owning process identifies a leak.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/dev/mqueue"))
"""Folders in which libraries create files outside the test's folder."""
CHECKOUT = Path(__file__).resolve().parents[1]
"""The checkout, which may itself be inside one of PLACES."""
STARTS = tuple(f"{place}/" for place in PLACES)
STAYING = ("lttng-ust-wait-",)
"""Name prefixes of files that a library shares between all of a user's programs and never removes."""
PATIENCE_S = 3.0
"""How long processes may take to exit and clean up."""
CLOCK_S = 0.1
"""How much older than the clock's time a new file's timestamp may be."""


class LeakWatch:
    """Records the open files of a test's processes, and finds the files that remain after the processes exit."""

    def __init__(self, run: str, folder: Path) -> None:
        self._marks = (run, folder.name)
        self._folder = folder
        self._own = {folder, CHECKOUT}
        """The folders whose files are no leaks."""
        self._before = set(_entries())
        self._began = time.time() - CLOCK_S
        self._opened: set[Path] = set()

    def permit(self, folder: Path) -> None:
        """Ignore files in another folder, which somebody else removes."""
        self._own.add(folder)

    def record(self, pid: int) -> None:
        """Record the open files of a process and its children; must be called before the process exits."""
        for each in (pid, *_children(pid)):
            self._opened.update(path for path in open_files(each) if not self._own & set(path.parents))

    def leaks(self) -> list[str]:
        """Return everything that remains after a grace period, or an empty list."""
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
        """Return whether a file exists and was changed during the watch; older files may belong to installed
        libraries."""
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
    """Return the files in PLACES that a process has open or mapped, or an empty set if reading them is not
    permitted."""
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
