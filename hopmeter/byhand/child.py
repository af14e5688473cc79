"""A participant's process: on the Python that its transport needs, heard over a wire, ended for certain."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hopmeter.byhand.wire import Wire, wait
from hopmeter.errors import HopmeterError
from hopmeter.manifest import codec_interpreter
from hopmeter.manifest.interpreter import NoPythonError, interpreter
from hopmeter.manifest.language_part import Offer
from hopmeter.manifest.readiness import environment
from hopmeter.system import paths
from hopmeter.system.processes import die_with_launcher, has_ended, kill_group

GRACE_S = 8.0
"""For a participant to close what it opened."""
LOOK_S = 0.05
TAIL_CHARACTERS = 400


def command(offer: Offer, codec: str = "") -> list[str]:
    """What runs a participant of a transport, with a codec's framework where that has an environment of its own;
    HopmeterError with what gets its Python."""
    joined = bool(codec) and bool(codec_interpreter.apart(codec))
    try:
        found = codec_interpreter.interpreter(codec, offer) if joined else interpreter(offer)
    except NoPythonError as none:
        raise HopmeterError("E-NO-PYTHON", str(none), none.remedy) from none
    if found is None:
        more = f" --framework {codec}" if joined else ""
        raise HopmeterError(
            "E-PACKAGES-MISSING", "its Python packages are not installed", f"hopmeter build {offer.transport}{more}"
        )
    if found.program == Path(sys.executable):
        return [sys.executable, "-P", "-m", "hopmeter.byhand.participant"]
    minor = ".".join(map(str, sys.version_info[:2]))
    # Packages of the system are old, so hopmeter's go first; an environment is of its own because these conflict.
    place = "first" if offer.interpreter == "system" else "last"
    script = paths.PACKAGE / "byhand/elsewhere.py"
    return [str(found.program), "-P", str(script), minor, place, sysconfig.get_path("purelib")]


class Child:
    """While entered, the process runs."""

    def __init__(self, offer: Offer, told: dict[str, Any], directory: Path, beyond: Mapping[str, str]) -> None:
        self._log = directory / "participant.log"
        ours, theirs = socket.socketpair()
        spec = directory / "participant.json"
        spec.write_text(json.dumps(told))
        with theirs, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command(offer, told.get("codec", "")), str(spec), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                cwd=directory,
                env={**environment(), **beyond},
                # Ctrl-C reaches the command alone, which then ends this one in its own way.
                start_new_session=True,
                preexec_fn=die_with_launcher,
            )
        self.wire = Wire(ours)
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def release(self) -> None:
        """Lets it end by itself."""
        self.wire.say(say="end")

    def kill(self) -> None:
        """Ends it at once."""
        kill_group(self.pid)

    def close(self) -> None:
        """Asks it to end, waits, and makes certain."""
        self.release()
        deadline = time.monotonic() + GRACE_S
        while not has_ended(self.pid) and time.monotonic() < deadline:
            if self.wire.heard() is None:
                wait([] if self.wire.hung_up else [self.wire], LOOK_S)
        kill_group(self.pid)
        self._process.wait()
        self.wire.close()

    def tail(self) -> str:
        """The end of what it wrote, in one line."""
        text = self._log.read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-2:])[-TAIL_CHARACTERS:]
