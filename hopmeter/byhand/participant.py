"""`python -m hopmeter.byhand.participant SPEC FD`: one participant, told what to do by a file, heard over a wire."""

from __future__ import annotations

import importlib
import json
import os
import queue
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from hopmeter.byhand.wire import GoneError, Said, Wire, wait
from hopmeter.client import ConnectError, Session, connect
from hopmeter.errors import HopmeterError

ROLES = {"serve": "serving", "ask": "asking"}
LOOK_S = 0.2


class Ears:
    """What the command says, read on a thread of its own so that it is heard while messages are moved."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._said = wire, queue.SimpleQueue[Said]()
        self.over = threading.Event()
        """Set when the command wants this to end, or has ended itself."""
        threading.Thread(target=self._run, name="hopmeter by hand", daemon=True).start()

    def _run(self) -> None:
        while not self.over.is_set():
            message = self._wire.heard()
            if message is None:
                if self._wire.hung_up:
                    break
                wait([self._wire], LOOK_S)
            elif message.get("say") == "end":
                break
            else:
                self._said.put(message)
        self.over.set()

    def say(self, word: str, **more: Any) -> None:
        """Tells the command, and what the other participant has to know through it that one."""
        self._wire.say(say=word, **more)

    def heard(self, within_s: float = 0) -> Said | None:
        """The next message; None if there is none by then."""
        try:
            return self._said.get(timeout=within_s) if within_s else self._said.get_nowait()
        except queue.Empty:
            return None

    def expect(self, word: str, within_s: float) -> Said:
        """The next message, which has to be this one. Raises GoneError where it does not come, or the end does."""
        left = within_s
        while not self.over.is_set() and left > 0:
            if (message := self.heard(LOOK_S)) is not None:
                return checked(message, word)
            left -= LOOK_S
        raise GoneError(
            "E-PEER-GONE", "the other end has left" if self.over.is_set() else f"no `{word}` within {within_s:g} s"
        )


def checked(message: Said, word: str) -> Said:
    """A message that has to be this one; GoneError for what the other participant failed with."""
    if message.get("say") == "failed":
        raise GoneError(str(message.get("code") or "E-PEER-FAILED"), f"the other end failed: {message.get('error')}")
    if message.get("say") != word:
        raise GoneError(
            "E-VERSIONS-DIFFER",
            f"`{message.get('say')}` instead of `{word}`",
            "use one version of hopmeter at both ends",
        )
    return message


class MissingError(HopmeterError):
    """What a participant needs is not installed."""


def opened(told: Said, **more: Any) -> Session:
    """The house of a participant; MissingError with the remedy where its transport is not installed."""
    try:
        where = {"folder": told["folder"], "host": told["host"]}
        return connect(told["transport"], daemon=told["daemon"], **where, **more)
    except ConnectError as failed:
        raise MissingError(failed.code, failed.what, failed.remedy) from failed


def main(spec: str, handle: str) -> int:
    """Plays the role; what goes wrong is told, with its remedy."""
    ears = Ears(Wire(socket.socket(fileno=int(handle))))
    told = json.loads(Path(spec).read_text())
    try:
        importlib.import_module(f"hopmeter.byhand.{ROLES[told['role']]}").play(ears, told)
    except HopmeterError as failed:
        ears.say("failed", code=failed.code, error=failed.what, remedy=failed.remedy, kind=type(failed).__name__)
        return 1
    except Exception as failed:  # noqa: BLE001 (told, whatever it is)
        ears.say("failed", error=f"{type(failed).__name__}: {failed}"[:1000], remedy="", kind="")
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Frameworks' own threads may not hold up the end: everything of hopmeter's is closed by now.
    os._exit(code)
