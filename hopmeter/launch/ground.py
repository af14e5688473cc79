"""The private ground of a run: a folder nobody else may read, and a note by which the next command can clean up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hopmeter import places
from hopmeter.launch.processes import boot_id, kill_group, start_ticks

PREFIX = "hm-"
LONGEST = 40
"""Paths of Unix sockets hold about 100 characters; what is left is the transport's."""


def new_run_id() -> str:
    """16 hexadecimal digits, unique to one trial."""
    return secrets.token_hex(8)


class Ground:
    """While entered, the folder exists and the note says what to clean up; afterwards neither does."""

    def __enter__(self) -> Self:
        self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_base()))
        self._note = _notes() / f"{os.getpid()}-{self.directory.name}.json"
        self._trials = 0
        self.keep(nodes=(), leftovers=())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self._note.unlink(missing_ok=True)

    def trial(self) -> Path:
        """A fresh folder for one trial."""
        self._trials += 1
        folder = self.directory / str(self._trials)
        folder.mkdir(mode=0o700)
        return folder

    def keep(self, nodes: Iterable[int], leftovers: Iterable[str]) -> None:
        """Notes what there is to clean up should this process be killed."""
        note = {
            "boot": boot_id(),
            "launcher": _who(os.getpid()),
            "directory": str(self.directory),
            "nodes": [_who(pid) for pid in nodes],
            "leftovers": list(leftovers),
        }
        # A machine whose cache cannot be written still measures; only a SIGKILL would leave something then.
        with contextlib.suppress(OSError):
            self._note.parent.mkdir(parents=True, exist_ok=True)
            beside = self._note.with_suffix(".new")
            beside.write_text(json.dumps(note))
            beside.replace(self._note)


def _who(pid: int) -> list[int | None]:
    return [pid, start_ticks(pid)]


def _base() -> Path:
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = own and len(own) <= LONGEST and os.access(own, os.W_OK | os.X_OK)
    return Path(own) if usable else Path("/tmp")


def _notes() -> Path:
    return places.cache() / "live"


def remove_leftovers(patterns: Iterable[str], run: str) -> list[str]:
    """Removes what a killed node left outside its folder; only what carries this very run's id."""
    found = [path for pattern in patterns for path in Path("/").glob(pattern.replace("{run}", run).lstrip("/"))]
    for path in found:
        with contextlib.suppress(OSError):
            path.unlink()
    return [str(path) for path in found]


def sweep() -> list[str]:
    """Cleans up after launchers that were killed; answers their folders. Never touches a live run."""
    swept = []
    for path in _notes().glob("*.json"):
        note = _read(path)
        if note is None or _is_live(note):
            continue
        _clean(note)
        path.unlink(missing_ok=True)
        swept.append(str(note["directory"]))
    return swept


def _read(path: Path) -> dict[str, Any] | None:
    try:
        note = json.loads(path.read_text())
        keys = {"boot", "launcher", "directory", "nodes", "leftovers"}
        return note if keys <= note.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _is_live(note: dict[str, Any]) -> bool:
    return note["boot"] == boot_id() and _is_same(*note["launcher"])


def _is_same(pid: int, started: int | None) -> bool:
    return started is not None and start_ticks(pid) == started


def _clean(note: dict[str, Any]) -> None:
    if note["boot"] == boot_id():
        for pid, started in note["nodes"]:
            if _is_same(pid, started):
                kill_group(pid)
    for pattern in note["leftovers"]:
        # Resolved patterns carry a run's id; anything else in a damaged note is not ours to delete.
        if re.search(r"[0-9a-f]{16}", pattern):
            remove_leftovers([pattern], "")
    directory = Path(note["directory"])
    if directory.name.startswith(PREFIX):
        shutil.rmtree(directory, ignore_errors=True)
