"""The process that loads the machine during a trial."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.manifest.readiness import environment
from hopmeter.plan.placement.background_load import Load
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.system.processes import end_with_launcher, kill_group

PATIENCE_S = 20.0
"""The timeout in seconds for an answer of the load process. The timeout is long because the process maps its memory
before its first answer."""
GONE = "look at the log; without `background` the trial is measured without a load"


@dataclass(frozen=True)
class Achieved:
    """The load achieved since `begin`. A field is None if the user did not request a load of this kind."""

    cpu_percent: float | None
    """The average utilization of the load's cores, in percent."""
    memory_gb_s: float | None


class BackgroundLoad:
    """A process that loads the machine until `close`, or until the launcher exits."""

    def __init__(self, load: Load, log: Path) -> None:
        """Start the background load, and return when the load is running. Raises TrialFailedError if the load does not
        start."""
        self._load, self._log = load, log
        words = [",".join(map(str, load.cores)), str(load.cpu_percent / 100), str(load.memory_gb_s * 1e9)]
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                **end_with_launcher([sys.executable, "-m", "hopmeter.node.background", *words]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(),
                start_new_session=True,
            )
        self.pid = self._process.pid
        try:
            self._hear()
        except BaseException:
            self.close()
            raise

    def await_start(self) -> None:
        """Do nothing, because `__init__` returns only when the background load is running."""

    def begin(self) -> None:
        """Begin to measure the achieved load."""
        self._say("begin")

    def reading(self) -> Achieved:
        """Return the background load achieved since `begin`. Raises TrialFailedError if the load process has exited."""
        self._say("read")
        said = self._hear()
        cpu_percent, memory_gb_s = (float(said[name]) for name in ("cpu_percent", "memory_gb_s"))
        return Achieved(
            cpu_percent if self._load.cpu_percent else None, memory_gb_s if self._load.memory_gb_s else None
        )

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        try:
            os.write(self._process.stdin.fileno(), f"{word}\n".encode())
        except BrokenPipeError as cause:
            raise self._failure("has ended") from cause

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None, "it is a pipe"
        if not select.select([self._process.stdout], [], [], PATIENCE_S)[0]:
            raise self._failure(f"did not answer within {PATIENCE_S:.0f} s")
        if not (line := self._process.stdout.readline()):
            raise self._failure("has ended")
        return dict(json.loads(line))

    def _failure(self, what: str) -> TrialFailedError:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = f"; its log ends: {lines[-1]}" if lines else ""
        return TrialFailedError("E-BACKGROUND", f"the process of the background load {what}{said}", GONE)

    def close(self) -> None:
        """Kill the load process, and reap the process so that no zombie remains."""
        kill_group(self.pid)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if self._log.exists() and not self._log.stat().st_size:
            self._log.unlink()
