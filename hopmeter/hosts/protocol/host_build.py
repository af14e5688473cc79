"""Runs `hopmeter build` on a host. The agent starts the build as a subprocess and reads its output."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.system.input_files import read_tail
from hopmeter.system.processes import end_with_launcher, kill_group

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,59}")
SETTING = re.compile(r"[a-z][a-z0-9_]{0,59}=[A-Za-z0-9_.+,-]{1,200}")
MOST_BYTES = 1 << 16
"""The maximum number of output bytes in one answer."""
TAIL_BYTES = 2000
ENDING_S = 10.0


@dataclass(frozen=True)
class BuildOrder:
    """The transports, codecs and messages to build."""

    transports: Sequence[str] = ()
    languages: Sequence[str] = ()
    system_packages: bool = False
    messages: Sequence[str] = ()
    """Message types in the format of `--message`, for which codec libraries are built instead of adapters."""
    codecs: Sequence[str] = ()
    """The codecs of the messages."""
    settings: Sequence[str] = ()
    """Settings that select installations, as `NAME=A,B`."""

    def check(self) -> None:
        """Raise ValueError if a name or a setting is malformed."""
        for word in (*self.transports, *self.languages, *self.codecs):
            if not WORD.fullmatch(word):
                raise ValueError("a transport, a language or a codec is not a valid word")
        for setting in self.settings:
            if not SETTING.fullmatch(setting):
                raise ValueError("no setting: NAME=A,B is one")

    @property
    def command(self) -> list[str]:
        """Return the command that runs the build."""
        languages = ["--language", ",".join(self.languages)] if self.languages else []
        codecs = ["--codec", ",".join(self.codecs)] if self.codecs else []
        packages = ["--system-packages"] if self.system_packages else []
        messages = [f"--message={each}" for each in self.messages]
        settings = [f"--set={each}" for each in self.settings]
        options = [*languages, *codecs, *packages, *messages, *settings, "--json"]
        return [sys.executable, "-m", "hopmeter", "build", *options, *self.transports]


class HostBuild:
    """A running build."""

    def __init__(self, order: BuildOrder, folder: Path) -> None:
        """Start the build, and write its output to files in `folder`. Raises ValueError for malformed names or
        settings."""
        order.check()
        folder.mkdir(mode=0o700, exist_ok=True)
        self._output, self._errors = folder / "output", folder / "errors"
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                **end_with_launcher(order.command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )

    def report(self, offset: int) -> dict[str, Any]:
        """Return the complete lines that the build has printed after a byte offset, and the offset for the next call.
        After the last line, the report also contains the build's exit code and the last lines of its stderr."""
        code = self._process.poll()
        code = 128 - code if code is not None and code < 0 else code  # shells use this exit code for a signal
        with self._output.open("rb") as file:
            file.seek(offset)
            text = file.read(MOST_BYTES)
        lines = text[: text.rfind(b"\n") + 1]
        found = {"text": lines.decode(errors="replace"), "offset": offset + len(lines)}
        if lines or code is None:
            return {**found, "code": None, "errors": ""}
        return {**found, "code": code, "errors": read_tail(self._errors, TAIL_BYTES)}

    def close(self) -> None:
        """Stop the build and the compilers that it runs."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                kill_group(self._process.pid)
                self._process.wait()
