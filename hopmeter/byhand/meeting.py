"""Where two commands find each other: a socket whose address lies in the rendezvous folder of `hopmeter.connect`."""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from pathlib import Path

from hopmeter.byhand.door import ListeningDoor
from hopmeter.byhand.wire import Wire
from hopmeter.client.errors import ConnectError
from hopmeter.client.rendezvous import Rendezvous
from hopmeter.errors import UsageError
from hopmeter.runtime.signals import Alarm

LOOK_S = 0.2
LONGEST_NAME = 24
"""Links are named after it."""


def checked(name: str) -> str:
    """A name to meet under."""
    if re.fullmatch(f"[a-z0-9_]{{1,{LONGEST_NAME}}}", name):
        return name
    raise UsageError("E-NAME", f'"{name}" is no name to meet under', f"use up to {LONGEST_NAME} of a-z, 0-9 and _")


class Door(ListeningDoor):
    """The end that others come to. While it is open, its name is taken."""

    def __init__(self, folder: Path | None, kind: str, name: str) -> None:
        self._meeting, self._kind, self._name = Rendezvous(folder, "by-hand"), kind, name
        self._meeting.sweep()
        there = self._meeting.look(name, kind)
        if there is not None and there.lives:
            raise ConnectError(
                "E-NAME-TAKEN", f'"{name}" is already taken, by {there.owner}', "end it, or choose another --name"
            )
        self._record = self._meeting.claim(name, kind, 0, {}, ())
        try:
            self._socket = self._listening(Path(self._record.directory) / "door")
        except BaseException:
            self._meeting.retract(name, kind, self._record)
            raise

    def _listening(self, path: Path) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path))
        listening.listen(8)
        listening.setblocking(False)
        self._meeting.announce(self._name, self._kind, self._record, str(path))
        return listening

    def _introduced(self, guest: socket.socket) -> Wire:
        return Wire(guest)

    def close(self) -> None:
        """The name is free again."""
        super().close()
        self._meeting.retract(self._name, self._kind, self._record)


def entered(folder: Path | None, kind: str, name: str, within_s: float, alarm: Alarm) -> Wire:
    """A wire to the door of that name, as soon as it is open; ConnectError if it is not in time."""
    meeting = Rendezvous(folder, "by-hand")
    deadline = time.monotonic() + within_s
    while True:
        record = meeting.await_end(name, kind, min(LOOK_S, max(0.0, deadline - time.monotonic())))
        alarm.check()
        if record is not None and record.address:
            with suppress(OSError):
                return _connected(record.address)
        if time.monotonic() >= deadline:
            what = f'nobody is there under "{name}": waited {within_s:g} s in {meeting.folder}'
            other = "hopmeter publish" if kind == "pair" else f"hopmeter serve {name}"
            raise ConnectError(
                "E-PEER-MISSING",
                what,
                f"start the other end: `{other}`, as the same user on this machine; two machines need --meet",
            )


def _connected(address: str) -> Wire:
    """A socket whose path somebody else may not have put there: the folder is the user's alone."""
    if os.lstat(address).st_uid != os.getuid():
        raise PermissionError(address)
    mine = socket.socket(socket.AF_UNIX)
    try:
        mine.connect(address)
    except OSError:
        mine.close()
        raise
    return Wire(mine)
