"""Runs programs and waits for them.

After Ctrl-C, a running program is allowed to finish its work, because incomplete output is useless.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

GRACE_S = 10.0
"""How long a program may take to finish its work after a request to end, in seconds."""
_RUNNING: set[subprocess.Popen[str]] = set()


def run(
    command: Sequence[str | Path], timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program like `subprocess.run`, but let the program run up to `GRACE_S` seconds longer after Ctrl-C."""
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
    """Terminate all programs that threads are waiting for, and the programs' children. If `at_once` is set, kill these
    programs and their children instead of terminating them.

    This function is necessary because Ctrl-C interrupts only the main thread. Children must be terminated too, because
    a build tool that CMake has started otherwise keeps running.
    """
    for each in (each for process in list(_RUNNING) for each in _family(process.pid)):
        with suppress(psutil.Error):
            each.kill() if at_once else each.terminate()


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _end(process: subprocess.Popen[str]) -> None:
    """Terminate a program, and wait until the program has ended.

    If the program has already received Ctrl-C from the terminal, this termination is harmless.
    """
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
