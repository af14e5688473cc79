"""Run the command `hopmeter` in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
Ran = subprocess.CompletedProcess[str]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "hopmeter", *map(str, words)]


def hopmeter(*words: object, **how: Any) -> Ran:
    """Run the command until it exits; `how` is passed to `subprocess.run`."""
    usual = {"capture_output": True, "text": True, "timeout": 280, "check": False}
    return subprocess.run(command(*words), **{**usual, **how})


def environment_in(folder: Path) -> dict[str, str]:
    """Return an environment in which hopmeter keeps its private files in the given folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder), "COLUMNS": "200"}


@contextmanager
def running(*words: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a new session with its output in pipes; kill it at the end."""
    usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command(*words), text=True, **{**usual, **how}) as process:
        try:
            yield process
        finally:
            process.kill()
