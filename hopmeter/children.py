"""Programs that a command waits for. Ctrl-C lets them end by themselves: half of what they write is worth nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GRACE_S = 10.0
"""For a program to put away what it was doing."""
_RUNNING: set[subprocess.Popen[str]] = set()


def run(
    command: Sequence[str | Path], timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, which gives a program a quarter of a second after Ctrl-C and then kills it."""
    with subprocess.Popen(command, text=True, **options) as process:
        _RUNNING.add(process)
        try:
            out, err = process.communicate(timeout=timeout)
        except KeyboardInterrupt:
            _end(process)
            raise
        except BaseException:
            process.kill()
            raise
        finally:
            _RUNNING.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def stop() -> None:
    """Lets all end that threads are waiting for: Ctrl-C is raised in the main thread alone."""
    running = list(_RUNNING)
    for process in running:
        process.terminate()
    for process in running:
        _wait(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Whoever shares our terminal was interrupted with us; nobody minds to be asked again in other words."""
    process.terminate()
    _wait(process)


def _wait(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
