"""The command `hopmeter` in a process of its own."""

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
    """The command, to its end; `how` is for its process."""
    usual = {"capture_output": True, "text": True, "timeout": 280, "check": False}
    return subprocess.run(command(*words), **{**usual, **how})


def environment_in(folder: Path) -> dict[str, str]:
    """The environment in which the command of this checkout keeps its private files in a folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder), "COLUMNS": "200"}


@contextmanager
def running(*words: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs, in a session of its own and with its output in pipes; it is killed in the end."""
    usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command(*words), text=True, **{**usual, **how}) as process:
        try:
            yield process
        finally:
            process.kill()
