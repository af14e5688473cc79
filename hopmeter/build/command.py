"""Running a tool of a build: everything it says goes to a log, and its end is told where it fails."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hopmeter.errors import HopmeterError
from hopmeter.system import subprocesses

TAIL_LINES = 25


class BuildError(HopmeterError):
    """What could not be built, with what the tool said last and what to do about it."""

    def __init__(self, what: str, remedy: str = "", detail: str = "") -> None:
        super().__init__(what, remedy)
        self.detail = detail


def run_logged(
    command: Sequence[str | Path],
    log: Path,
    *,
    remedy: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Runs a command to its end, adding what it says to `log`; raises `BuildError` where it fails."""
    words = [str(word) for word in command]
    with log.open("a") as sink:
        sink.write(f"$ {' '.join(words)}\n")
        sink.flush()
        try:
            status = subprocesses.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **(env or {})},
            ).returncode
        except OSError as cause:
            raise BuildError(f"{words[0]} does not run: {cause.strerror}", remedy) from cause
    if status != 0:
        raise BuildError(f"`{' '.join(words[:3])} …` failed (the whole log: {log})", remedy, tail(log))


def tail(log: Path) -> str:
    """The end of a log, which is where tools say what is wrong."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
