"""Manages a command's private directory, and the clean-up note that lets a later command remove leftovers after a
crash."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hopmeter.system import owner_lock, paths
from hopmeter.system.open_files import OpenFile, remove_unused, to_json
from hopmeter.system.owner_lock import Owner
from hopmeter.system.processes import boot_id, kill_group, start_ticks

PREFIX = "hm-"
DYING_S = 2.0
"""How long a killed process may take to release its memory, in seconds."""
LOOK_S = 0.005


def new_run_id() -> str:
    """Return 16 random hexadecimal digits that identify one trial."""
    return secrets.token_hex(8)


class ScratchDir:
    """A private directory of a command, with a clean-up note. The private directory and the note exist only inside the
    `with` block."""

    def __enter__(self) -> Self:
        self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=paths.short_folder()))
        # Lock the directory before writing the note, because an unlocked directory in a note belongs to a killed
        # command.
        owner_lock.hold(self.directory)
        self._note = _notes() / f"{os.getpid()}-{self.directory.name}.json"
        self._trials = 0
        self.keep(nodes=(), leftovers=())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self._note.unlink(missing_ok=True)
        owner_lock.release(self.directory)

    def trial(self) -> Path:
        """Create and return a new directory for one trial."""
        self._trials += 1
        folder = self.directory / str(self._trials)
        folder.mkdir(mode=0o700)
        return folder

    def keep(self, nodes: Iterable[int], leftovers: Iterable[str], open_files: Iterable[OpenFile] = ()) -> None:
        """Write the clean-up note, which lists what to end and remove if the current process is killed."""
        left, opened = list(leftovers), list(open_files)
        patterns = [*left, *(file.path for file in opened)]
        note = {
            "owner": asdict(owner_lock.this_process()),
            "directory": str(self.directory),
            "nodes": [(pid, start_ticks(pid)) for pid in nodes],
            "leftovers": left,
            "open_files": to_json(opened),
            "places": {place: _identity(place) for place in {str(Path(pattern).parent) for pattern in patterns}},
        }
        # Without a writable cache, hopmeter works, but files may remain after a SIGKILL.
        with contextlib.suppress(OSError):
            self._note.parent.mkdir(parents=True, exist_ok=True)
            beside = self._note.with_suffix(".new")
            beside.write_text(json.dumps(note))
            beside.replace(self._note)


def _identity(place: str) -> list[int]:
    """Return a directory's device and inode, which identify the directory even if another container uses the same path.

    Return an empty list if the directory does not exist.
    """
    with contextlib.suppress(OSError):
        found = Path(place).stat()
        return [found.st_dev, found.st_ino]
    return []


def _notes() -> Path:
    return paths.cache() / "live"


def remove_leftovers(patterns: Iterable[str], run: str) -> list[str]:
    """Remove the files and directories that a killed node or broker left outside the trial's directory, and return
    their paths.

    Only paths whose names contain the trial's run id are removed.
    """
    removed = []
    for path in [path for pattern in patterns for path in Path("/").glob(pattern.replace("{run}", run).lstrip("/"))]:
        with contextlib.suppress(OSError):
            remove_path(path)
            removed.append(str(path))
    return removed


def remove_path(path: Path) -> None:
    """Remove a file, or a directory with its content. Do nothing if the path does not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sweep() -> list[str]:
    """Clean up after killed commands, and return the private directories that these commands used.

    The directories of commands that may still be running are not removed.
    """
    swept = (_sweep(path) for path in _notes().glob("*.json"))
    return [str(directory) for directory in swept if directory]


def _sweep(path: Path) -> Path | None:
    note = _read(path)
    if note is None or not _sees_all(note):
        return None
    with note.owner.take_over(note.directory) as ended:
        if not ended or not path.exists():
            return None
        _clean(note)
        try:
            path.unlink()
        except OSError:  # another command has already removed the note
            return None
    return note.directory


@dataclass(frozen=True)
class Note:
    """The clean-up note of a command."""

    owner: Owner
    directory: Path
    nodes: list[tuple[int, int | None]]
    leftovers: list[str]
    places: dict[str, list[int]]
    open_files: list[OpenFile]


def _read(path: Path) -> Note | None:
    try:
        note = json.loads(path.read_text())
        directory = Path(note["directory"])
        owner = Owner(**note["owner"]) if "owner" in note else _former_owner(note, directory)
        open_files = [OpenFile.parse(fields) for fields in note.get("open_files", [])]
        return Note(owner, directory, note["nodes"], note["leftovers"], note.get("places", {}), open_files)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _former_owner(note: dict[str, Any], directory: Path) -> Owner:
    """Return the owner that a note in the former format describes; this format names no host.

    If the directory exists and the note predates this boot, the owner is treated as a process of this host.
    """
    pid, started = note["launcher"]
    if note["boot"] == boot_id() or not directory.is_dir():
        return Owner(pid, started, "", "", note["boot"], "")
    return replace(owner_lock.this_process(), pid=pid, started=started, boot=note["boot"], namespaces="")


def _sees_all(note: Note) -> bool:
    """Return whether the paths of leftover files refer to the owner's directories in the current process too.

    After a reboot, return True, because all directories are new.
    """
    return note.owner.boot != boot_id() or all(_identity(place) == known for place, known in note.places.items())


def _kill(nodes: Iterable[tuple[int, int | None]]) -> None:
    """Kill the nodes that are still running, and wait until these nodes have ended and released their files."""
    alive = [(pid, started) for pid, started in nodes if started is not None and start_ticks(pid) == started]
    for pid, _ in alive:
        kill_group(pid)
    deadline = time.monotonic() + DYING_S
    while any(start_ticks(pid) == started for pid, started in alive) and time.monotonic() < deadline:
        time.sleep(LOOK_S)


def _clean(note: Note) -> None:
    # Nodes in another PID namespace have already ended, because the kernel kills them with their launcher. The files of
    # these nodes are kept, because this process may not see other processes that use these files.
    if note.owner.shares_namespaces:
        _kill(note.nodes)
        remove_unused(note.open_files)
    for pattern in note.leftovers:
        # The patterns of a trial contain a run id. A pattern without a run id comes from a corrupted note, and matching
        # files must not be deleted.
        if re.search(r"[0-9a-f]{16}", pattern):
            remove_leftovers([pattern], "")
    if note.directory.name.startswith(PREFIX):
        shutil.rmtree(note.directory, ignore_errors=True)
