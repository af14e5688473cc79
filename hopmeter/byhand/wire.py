"""Messages between two processes: JSON, one object a line, over a stream socket. Both ends may look without waiting."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from hopmeter.errors import HopmeterError
from hopmeter.runtime.signals import Alarm
from hopmeter.system.untrusted_json import parse

LONGEST_LINE = 1 << 20
Said = dict[str, Any]


class GoneError(HopmeterError):
    """The other end has ended or was ended."""


class Wire:
    """One end."""

    def __init__(self, ours: socket.socket) -> None:
        ours.setblocking(True)
        self._socket = ours
        self._heard = b""
        self._waiting: deque[Said] = deque()
        self._saying = threading.Lock()
        self.hung_up = False
        self.aside: dict[str, Callable[[Said], object]] = {}
        """Who hears messages of these words as soon as they are read, in place of whoever asks for the next one."""

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    @property
    def own_host(self) -> str:
        """The address of this machine by which it reaches the other end; for a wire over TCP."""
        return str(self._socket.getsockname()[0])

    def say(self, **message: Any) -> None:
        """Tells the other end something; one that is gone is found out by listening."""
        with suppress(OSError), self._saying:
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def heard(self) -> Said | None:
        """The next message, without waiting; None where there is none yet."""
        while not self._waiting and not self.hung_up and select.select([self], [], [], 0)[0]:
            self._read()
        return self._waiting.popleft() if self._waiting else None

    def _read(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except OSError:
            data = b""
        self.hung_up = not data
        *lines, self._heard = (self._heard + data).split(b"\n")
        try:
            self._sort(map(_message, lines))
        except (ValueError, TypeError):
            self.hung_up = True  # no hopmeter wrote this: the connection ends as if the peer had left
        if len(self._heard) > LONGEST_LINE:
            self.hung_up = True

    def _sort(self, messages: Iterable[Said]) -> None:
        for message in messages:
            aside = self.aside.get(str(message.get("say")))
            if aside is None:
                self._waiting.append(message)
            else:
                aside(message)

    def look(self, within_s: float, alarm: Alarm | None = None) -> None:
        """Has what comes next heard by those it concerns `aside`; for all others it stays here."""
        if not self.hung_up:
            wait([self], within_s, alarm)
            if select.select([self], [], [], 0)[0]:
                self._read()

    def expect(self, *words: str, within_s: float, alarm: Alarm | None = None) -> Said:
        """The next message, which has to be one of these. Raises GoneError where it does not come."""
        deadline = time.monotonic() + within_s
        while (message := self.heard()) is None:
            left = deadline - time.monotonic()
            if self.hung_up:
                raise GoneError("E-PEER-GONE", "the other end has left")
            if left <= 0:
                raise GoneError(
                    "E-PEER-SILENT", f"the other end said nothing for {within_s:g} s", "see whether it still runs"
                )
            wait([self], left, alarm)
        if message.get("say") in words:
            return message
        raise GoneError(
            "E-VERSIONS-DIFFER", f"the other end said {str(message)[:100]}", "use one version of hopmeter at both ends"
        )

    def close(self) -> None:
        """The other end hears that."""
        self._socket.close()


def _message(line: bytes) -> Said:
    """One line as a message; ValueError or TypeError for any other."""
    message = dict(parse(line))
    json.dumps(message, ensure_ascii=False).encode()  # refuses half a surrogate pair, which cannot be printed or stored
    return message


def wait(sources: Iterable[Any], timeout_s: float, alarm: Alarm | None = None) -> None:
    """Sleeps until one of them can be read, or the time is up. Raises InterruptedRunError once the alarm has rung."""
    ears = [alarm.ear] if alarm else []
    select.select([*ears, *sources], [], [], max(0.0, timeout_s))
    if alarm:
        alarm.check()
