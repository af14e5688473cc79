"""The commands as a person starts them, in processes of their own."""

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
"""Importing takes long on a machine that does other work."""


class Command:
    """One command that was started, what it has said, and what belongs to it."""

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
        """Everything so far, line ends as spaces."""
        return self._log.read_text()

    def says(self, pattern: str) -> None:
        """Waits until it has said that; fails where it ends without."""
        for _ in range(PATIENCE_S * 50):
            ended = self.process.poll() is not None
            if re.search(pattern, self.output):
                return
            assert not ended, self.output
            psutil.wait_procs([psutil.Process(os.getpid())], timeout=0.02)
        raise AssertionError(f"{pattern} is not in: {self.output}")

    def family(self) -> list[psutil.Process]:
        """The command and all that it has started."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def running(self, word: str) -> list[psutil.Process]:
        """What it has started with this word in the command line, and has not ended."""
        return [each for each in self.family()[1:] if word in _command_line(each)]

    def ends(self) -> int:
        """Its exit code."""
        return self.process.wait(PATIENCE_S)

    def interrupt(self) -> None:
        """Ctrl-C, for the command alone as in a terminal of its own."""
        self.process.send_signal(signal.SIGINT)


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended meanwhile
        return []


@contextmanager
def start(
    log: Path, *words: str, beyond: Mapping[str, str] | None = None, before: Sequence[str] = ()
) -> Iterator[Command]:
    """A command, ended for certain; `before` is what starts it, and becomes it."""
    command = Command(log, list(words), beyond or {}, before)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()
