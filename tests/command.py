"""The command `hopmeter` in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Ran = subprocess.CompletedProcess[str]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "hopmeter", *map(str, words)]


def hopmeter(*words: object, **how: Any) -> Ran:
    """The command, to its end; `how` is for its process."""
    usual = {"capture_output": True, "text": True, "timeout": 280, "check": False}
    return subprocess.run(command(*words), **{**usual, **how})


@contextmanager
def running(*words: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs, in a session of its own and with its output in pipes; it is killed in the end."""
    usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command(*words), text=True, **{**usual, **how}) as process:
        try:
            yield process
        finally:
            process.kill()
