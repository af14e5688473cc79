"""How two programs of one user find each other: a private directory with a record for each bound link end.

A record is a file `TRANSPORT.NAME.KIND.json` with the address and the process that wrote it. The process that wrote a
record holds a lock on the private directory of its link end. A record is stale if the process that wrote it has exited.
The next process that finds a stale record removes the record, the private directory and any other files of that link
end.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hopmeter.client.errors import ConnectError
from hopmeter.system import owner_lock, paths
from hopmeter.system.open_files import OpenFile, OpenFiles, remove_unused, to_json
from hopmeter.system.owner_lock import Owner

PREFIX = "hm-link-"
OPENED = "open-files-"
"""The name prefix of the files that list the link's open files. The lists are in the link's private directory."""
LOOK_S = 0.01
UNKNOWN = dict.fromkeys(("host", "machine", "boot", "namespaces"), "")


@dataclass(frozen=True)
class Record:
    """The record of one bound link end."""

    owner: Owner
    run: str
    """16 hexadecimal digits, unique to this link end."""
    directory: str
    """A private directory in which both ends of the link may create files."""
    frame_bytes: int
    settings: dict[str, Any]
    leftovers: list[str]
    """Glob patterns of files that the process may leave in other directories."""
    address: str | None = None
    """The address of the link end, or None until the link end is bound."""

    @property
    def pid(self) -> int:
        """The id of the process that wrote the record."""
        return self.owner.pid

    @property
    def lives(self) -> bool:
        """Whether the process that wrote the record may still be running. The value is False only if that process is
        known to have exited."""
        return self.owner.may_run(Path(self.directory))


class Rendezvous:
    """Reads and writes the records in the rendezvous directory on behalf of one process."""

    def __init__(self, folder: str | os.PathLike[str] | None, transport: str) -> None:
        self.folder = _private(Path(folder) if folder is not None else default_folder())
        self._transport = transport

    def claim(self, name: str, kind: str, frame_bytes: int, settings: dict[str, Any], left: Sequence[str]) -> Record:
        """Reserve a name for this process, and return the new record. Raises ConnectError if a running process uses the
        name."""
        run = secrets.token_hex(8)
        with self._lock():
            self._refuse_taken(name, kind)
            directory = tempfile.mkdtemp(prefix=PREFIX, dir=paths.short_folder())
            owner_lock.hold(Path(directory))
            own = [pattern.replace("{run}", run) for pattern in left]
            record = Record(owner_lock.this_process(), run, directory, frame_bytes, settings, own)
            self._write(name, kind, record)
        return record

    def announce(self, name: str, kind: str, record: Record, address: str) -> None:
        """Publish that the link end is bound, so that other processes may connect."""
        self._write(name, kind, replace(record, address=address))

    def retract(self, name: str, kind: str, record: Record) -> None:
        """Remove the record and the files of a closed link end."""
        with self._lock():
            if (there := self.look(name, kind)) is not None and there.run == record.run:
                self._path(name, kind).unlink(missing_ok=True)
        _remove(record)

    def look(self, name: str, kind: str) -> Record | None:
        """Return the current record of a link end, or None if there is no valid record. The process that wrote the
        returned record may have exited."""
        return _read(self._path(name, kind))

    def await_end(self, name: str, kind: str, within_s: float) -> Record | None:
        """Return the record of a link end as soon as the link end is bound, or None on a timeout."""
        deadline = time.monotonic() + within_s
        while True:
            record = self.look(name, kind)
            if record is not None and record.address is not None and record.lives:
                return record
            if record is not None and not record.lives:
                self.sweep()
            if time.monotonic() >= deadline:
                return None
            time.sleep(LOOK_S)

    def kinds(self, name: str, begins: str) -> set[str]:
        """Return those kinds of the records under a name that begin with `begins`."""
        start = f"{self._transport}.{name}."
        files = (path.name for path in self.folder.glob(f"{start}{begins}*.json"))
        return {file.removeprefix(start).removesuffix(".json") for file in files}

    def sweep(self) -> None:
        """Remove the records and files of exited processes, for all transports."""
        with self._lock():
            _sweep(self.folder)

    def _refuse_taken(self, name: str, kind: str) -> None:
        there = self.look(name, kind)
        if there is None:
            return
        if there.lives:
            taken = f'"{name}" is already in use over {self._transport} by {there.owner}'
            crashed = "" if there.owner.is_on_this_host else f"; if it has crashed, remove {self._path(name, kind)}"
            raise ConnectError("E-NAME-TAKEN", taken, f"choose another name, or close it there{crashed}")
        _remove(there)

    def _write(self, name: str, kind: str, record: Record) -> None:
        path = self._path(name, kind)
        beside = path.with_suffix(f".{record.run}")
        beside.write_text(json.dumps(asdict(record)))
        beside.replace(path)

    def _path(self, name: str, kind: str) -> Path:
        return self.folder / f"{self._transport}.{name}.{kind}.json"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        # The directory itself is locked, so that no lock file remains.
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def default_folder() -> Path:
    """Return the user's default directory: in XDG_RUNTIME_DIR if it is writable, otherwise in the temporary
    directory."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    if own and os.access(own, os.W_OK | os.X_OK):
        return Path(own) / "hopmeter"
    return Path(tempfile.gettempdir()) / f"hopmeter-{os.getuid()}"


def _private(folder: Path) -> Path:
    """Create the directory if it does not exist, and return it. Raises ConnectError if other users can write to the
    directory, because the records in the directory are trusted."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat() if not folder.is_symlink() else folder.stat()
    except OSError as cause:
        raise ConnectError(
            "E-LINK-FOLDER", f"{folder} cannot be the folder of the links: {cause.strerror}", "choose another: folder=…"
        ) from cause
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConnectError(
            "E-LINK-FOLDER", f"other users may write to {folder}", f"chmod 700 {folder}, or choose another: folder=…"
        )
    return folder.resolve()


def _read(path: Path) -> Record | None:
    try:
        fields = json.loads(path.read_text())
        if "owner" not in fields:  # the previous format has a process id but no host
            fields["owner"] = {"pid": fields.pop("pid"), "started": fields.pop("started"), **UNKNOWN}
        return Record(**fields | {"owner": Owner(**fields["owner"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _sweep(folder: Path, records: str = "*.json") -> None:
    for path in folder.glob(records):
        record = _read(path)
        if record is not None and not record.lives:
            path.unlink(missing_ok=True)
            _remove(record)


def note_open_files(record: Record, open_files: OpenFiles) -> None:
    """Record in the link's directory which files this process has opened. The process that removes the directory also
    removes the recorded files if no process uses them."""
    if not open_files.note(os.getpid()):
        return
    path = Path(record.directory) / f"{OPENED}{os.getpid()}.json"
    beside = path.with_suffix(".new")
    with suppress(OSError):  # the binding process may have removed the directory
        beside.write_text(json.dumps(to_json(open_files.files)))
        beside.replace(path)


def _noted_open_files(directory: Path) -> Iterator[OpenFile]:
    for path in directory.glob(f"{OPENED}*.json"):
        with suppress(OSError, ValueError, TypeError, KeyError):
            yield from map(OpenFile.parse, json.loads(path.read_text()))


def _remove(record: Record) -> None:
    """Remove the files that a link end may have left behind: files with hopmeter's names, and recorded files that no
    process uses."""
    directory = Path(record.directory)
    if directory.name.startswith(PREFIX):
        if record.owner.shares_namespaces:  # processes of other namespaces that use these files may be invisible here
            remove_unused(_noted_open_files(directory))
        # Removes records of link ends whose rendezvous directory is inside this directory.
        _sweep(directory, "*/*.json")
        shutil.rmtree(directory, ignore_errors=True)
    owner_lock.release(directory)
    if not re.fullmatch("[0-9a-f]{16}", record.run):
        return
    for pattern in record.leftovers:
        for path in Path("/").glob(pattern.lstrip("/")) if record.run in pattern else ():
            with suppress(OSError):
                path.unlink()
