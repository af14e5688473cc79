"""Run the interactive commands in separate processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

PATIENCE_S = 200
"""The timeout in seconds, which includes slow imports on a busy machine."""


class Command:
    def __init__(self, log: Path, words: list[str], beyond: Mapping[str, str], before: Sequence[str]) -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "hopmeter", *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, "COLUMNS": "200", **beyond},
            )

    @property
    def output(self) -> str:
        """Return all output so far, with newlines replaced by spaces."""
        return self._log.read_text()

    def says(self, pattern: str) -> None:
        """Wait until the output contains this text; fail if the command exits first."""
        for _ in range(PATIENCE_S * 50):
            ended = self.process.poll() is not None
            if re.search(pattern, self.output):
                return
            assert not ended, self.output
            psutil.wait_procs([psutil.Process(os.getpid())], timeout=0.02)
        raise AssertionError(f"{pattern} is not in: {self.output}")

    def family(self) -> list[psutil.Process]:
        """Return the command and all its descendants."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def running(self, word: str) -> list[psutil.Process]:
        """Return the running descendants whose command line contains this word."""
        return [each for each in self.family()[1:] if word in _command_line(each)]

    def ends(self) -> int:
        """Wait for the command, and return its exit code."""
        return self.process.wait(PATIENCE_S)

    def interrupt(self) -> None:
        """Send Ctrl-C to this command only, as in a separate terminal."""
        self.process.send_signal(signal.SIGINT)


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # the process has already exited
        return []


@contextmanager
def start(
    log: Path, *words: str, beyond: Mapping[str, str] | None = None, before: Sequence[str] = ()
) -> Iterator[Command]:
    """Start a command, and always stop it at the end; `before` is a command prefix, such as one that enters a
    namespace."""
    command = Command(log, list(words), beyond or {}, before)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()
