"""Lock a run folder, so that only one process at a time writes a measurement into it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.system import owner_lock
from hopmeter.system.owner_lock import Owner

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW


@contextmanager
def lock_run(run: Path) -> Iterator[None]:
    """Lock a run, so that no other process can measure into it. The lock remains valid even if the run folder is
    renamed. Raises UsageError if another process is measuring into the run."""
    path = _lock_path(run.resolve())
    is_held = _hold(path, run)
    try:
        yield
    finally:
        if is_held:
            with suppress(OSError):
                path.unlink()
            owner_lock.release(path)


def _lock_path(run: Path) -> Path:
    """Return the path of the lock file of a run. The lock file is next to the run folder, because the folder is renamed
    while the run is locked."""
    return run.with_name(f".{run.name.removeprefix('.').removesuffix('.partial')}.lock")


def _hold(path: Path, run: Path) -> bool:
    """Take the lock of a run. Return False if locking is not possible, for example because the file system is
    read-only."""
    while path.parent.is_dir():
        try:
            handle = owner_lock.hold(path, FLAGS)
        except FileNotFoundError:  # the lock's owner has just ended and removed the file
            continue
        except BlockingIOError as taken:
            what = f"{_owner(path)} is measuring into {run}"
            raise UsageError(
                "E-RUN-BUSY", what, "wait until that process ends, or interrupt it; then use --resume"
            ) from taken
        except OSError:
            return False
        _sign(handle)
        return True
    return False


def _sign(handle: int) -> None:
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(asdict(owner_lock.this_process())).encode())


def _owner(path: Path) -> str:
    try:
        return str(Owner(**json.loads(path.read_text())))
    except (OSError, ValueError, TypeError):
        return "another process"
