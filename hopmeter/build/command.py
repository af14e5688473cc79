"""Runs a build tool, logs its output, and reports the last lines of the log if the tool fails."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hopmeter.errors import HopmeterError
from hopmeter.system import subprocesses

TAIL_LINES = 25


class BuildError(HopmeterError):
    """Raised if a build fails. The error contains the tool's last output and a remedy."""

    def __init__(self, code: str, what: str, remedy: str = "", detail: str = "") -> None:
        super().__init__(code, what, remedy)
        self.detail = detail


def run_logged(
    command: Sequence[str | Path],
    log: Path,
    *,
    remedy: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a command, and append its output to the file `log`.

    Raises BuildError if the command cannot be started or fails.
    """
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
            raise BuildError("E-NO-TOOL", f"{words[0]} does not start: {cause.strerror}", remedy) from cause
    if status != 0:
        raise BuildError("E-COMMAND-FAILED", f"`{' '.join(words[:3])} …` failed (full log: {log})", remedy, tail(log))


def tail(log: Path) -> str:
    """Return the last lines of a log, where build tools print their errors."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
