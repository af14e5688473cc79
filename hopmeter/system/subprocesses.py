"""Runs programs and waits for them.

After Ctrl-C, a running program may finish its work, because incomplete output is useless.
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
    """Run a program like `subprocess.run`, but after Ctrl-C, give the program up to `GRACE_S` seconds to finish."""
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
    """Terminate all programs that threads wait for, and their children. If `at_once` is set, kill the programs and
    their children instead.

    Ctrl-C interrupts only the main thread. Children must also be terminated, because the build tool that CMake started
    would otherwise keep running.
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
    """Terminate a program, and wait until it has ended.

    If the program has already received Ctrl-C from the terminal, terminating it as well is harmless.
    """
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
