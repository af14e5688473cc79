"""What a test leaves outside its folder, known by its run or by who has held it: others test beside us."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
"""Where libraries put what is not in their folder."""
CHECKOUT = Path(__file__).resolve().parents[1]
"""May lie in such a place itself, with all that is installed into it."""
STARTS = tuple(f"{place}/" for place in PLACES)
PATIENCE_S = 3.0
"""A process that was told to end takes a moment, and so does who cleans up after it."""
CLOCK_S = 0.1
"""By how much a file's time may be behind, and more."""


class Watch:
    """Looks at the processes of one test before they end, and afterwards at what there still is."""

    def __init__(self, run: str, folder: Path) -> None:
        self._marks = (run, folder.name)
        self._folder = folder
        self._before = set(_entries())
        self._began = time.time() - CLOCK_S
        self._held: set[Path] = set()

    def look(self, pid: int) -> None:
        """Notes what a process and its children hold; called before it ends."""
        for each in (pid, *_children(pid)):
            self._held.update(path for path in held(each) if not {self._folder, CHECKOUT} & set(path.parents))

    def remains(self) -> list[str]:
        """What is left once everything had time to go; empty where all is as it was."""
        deadline = time.monotonic() + PATIENCE_S
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _left(self) -> list[str]:
        files = [path for path in _entries() if path != self._folder and self._is_marked(path.name)]
        orphans = [path for path in self._held - self._before if self._is_new(path)]
        held_by_others = {path for pid in _pids() for path in held(pid)} if orphans else set()
        files += [path for path in orphans if path not in held_by_others and path not in files]
        sockets = [line.split()[-1] for line in _lines("/proc/net/unix") if "@" in line and self._is_marked(line)]
        return [*map(str, sorted(files)), *sockets, *self._processes()]

    def _is_new(self, path: Path) -> bool:
        """Whether it is there, and was made since: libraries may be installed in such places, too."""
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


def held(pid: int) -> set[Path]:
    """The files in the places of libraries that a process has open or mapped; empty where that may not be seen."""
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
