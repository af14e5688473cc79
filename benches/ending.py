"""Stop all programs that a bench started, however the bench ends, and remove their files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from awake import awake

from hopmeter.manifest import every
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.system.open_files import OpenFiles, remove_unused
from hopmeter.system.processes import die_with_launcher
from hopmeter.system.scratch_dir import new_run_id, remove_leftovers

MARK = "HOPMETER_BENCH_RUN"
"""The environment variable with the run's name, which marks all programs of the run and their children."""
REMAINS = ("/dev/shm/hm_{run}_*", "/dev/shm/sem.hm_{run}_*", "/tmp/hm_{run}_*")
"""Glob patterns of the files that a run's killed programs may leave."""
GRACE_S = 5.0
"""How long a program may take to exit after SIGTERM."""
LOOK_S = 0.005
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Run:
    """Starts programs inside its `with` block, each in a separate session, with a temporary folder for their files."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.name = new_run_id()
        self._grace_s = grace_s
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="hm-", ignore_cleanup_errors=True)
        patterns = {
            pattern: each.open_leftovers[pattern] for each in every().values() for pattern in each.open_leftovers
        }
        self._open_files = OpenFiles(patterns)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask_to_end()
        while living := _marked_processes(self.name):
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_S)
        for process in self._started:
            process.wait()
        remove_leftovers(REMAINS, self.name)
        remove_unused(self._open_files.files)
        self._folder.cleanup()

    @property
    def directory(self) -> str:
        """The programs' temporary folder, which is removed at the end of the run."""
        return self._folder.name

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a program like `subprocess.Popen` in text mode; `env` is added to this process's environment.

        The program ends with this process, unless `preexec_fn` is None.
        """
        options.setdefault("preexec_fn", die_with_launcher)
        env = {**os.environ, **(options.pop("env", None) or {}), MARK: self.name, "TMPDIR": self.directory}
        process = subprocess.Popen(command, text=True, env=env, start_new_session=True, **options)
        self._started.append(process)
        return process

    def capture(self, command: Sequence[str], timeout_s: float, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program until it exits, and capture its output. Raises `subprocess.TimeoutExpired`."""
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.start(command, **both, **options)
        out, err = process.communicate(timeout=timeout_s)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def _ask_to_end(self) -> None:
        for pid in _marked_processes(self.name):
            self._open_files.note(pid)
        for process in self._started:
            process.terminate()
        deadline = time.monotonic() + self._grace_s
        for process in self._started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def _marked_processes(name: str) -> list[int]:
    """Return the ids of the run's live processes, excluding zombies."""
    sought = f"{MARK}={name}".encode()
    return [int(each.parent.name) for each in Path("/proc").glob("[0-9]*/environ") if sought in _read(each)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def orderly(main: Callable[[], int], keeps_awake: bool = True) -> int:
    """Run a bench and return its exit code. Cores stay awake during the bench, unless `keeps_awake` is False.

    The first Ctrl-C or SIGTERM interrupts the bench. The clean-up after the bench cannot be interrupted.
    """
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    try:
        with awake() if keeps_awake else contextlib.nullcontext():
            return main()
    except (KeyboardInterrupt, InterruptedRunError):
        print("stopped; no result is stored", file=sys.stderr)
        return 130


def _interrupt(*_: int | FrameType | None) -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt
