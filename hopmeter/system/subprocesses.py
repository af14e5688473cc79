"""Programs that a command waits for. Ctrl-C lets them end by themselves: half of what they write is worth nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

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


def stop(at_once: bool = False) -> None:
    """Ends all tools that threads are waiting for, with what those have started, by and by or `at_once`: Ctrl-C is
    raised in the main thread alone, and CMake waits for its builder, which nobody else would end."""
    for each in (each for process in list(_RUNNING) for each in _family(process.pid)):
        with suppress(psutil.Error):
            each.kill() if at_once else each.terminate()


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _end(process: subprocess.Popen[str]) -> None:
    """Whoever shares our terminal was interrupted with us; nobody minds to be asked again in other words."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
