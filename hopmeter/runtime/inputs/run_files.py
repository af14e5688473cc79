"""Files that a run creates from the user's files before its first trial, such as decoded frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hopmeter.errors import UsageError
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir

Need = TypeVar("Need")
File = TypeVar("File")


class RunFile(Protocol):
    """A file that a run has created, with facts about the file, which the result stores."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return facts about the file, which the result stores. The fact `path` is the path of the user's original
        file."""


@contextmanager
def make_files(
    needed: Mapping[str, Need], make: Callable[[str, Need, Path, Callable[[], None]], File]
) -> Iterator[dict[str, File]]:
    """Create a file for each key. The files are stored in a directory of the run, and exist only inside the `with`
    block.

    For each key, `make` receives the key, the value of the key in `needed`, the path of the new file, and a check
    function. `make` must call the check function often, because the check raises InterruptedRunError after Ctrl-C.
    """
    if not needed:
        yield {}
        return
    with ScratchDir() as ground:
        with Alarm() as alarm:
            found = {
                key: make(key, need, ground.directory / str(number), alarm.check)
                for number, (key, need) in enumerate(needed.items())
            }
        yield found


def facts(files: Mapping[str, RunFile]) -> dict[str, Any]:
    """Return facts about the files, which `run.json` stores."""
    return {key: dict(one.facts) for key, one in files.items()}


def check_unchanged(files: Mapping[str, RunFile], before: Mapping[str, Any], kind: str = "") -> None:
    """Raise UsageError if a file has changed since the run began. If a file has changed, a resumed run sends other
    messages than the interrupted run."""
    for key, found in facts(files).items():
        if found != before.get(key):
            what = f"{kind}{key} has different content than when this run began"
            raise UsageError("E-PAYLOAD-CHANGED", what, f"restore {found['path']}, or start a new run")
