"""The end of a meeting that others come to, whatever it listens on."""

from __future__ import annotations

import socket
import time
from abc import ABC, abstractmethod
from contextlib import suppress

from hopmeter.byhand.wire import GoneError, Wire, wait
from hopmeter.runtime.signals import Alarm


class ListeningDoor(ABC):
    """Whoever comes to a listening socket, which does not block, is let in where he is expected."""

    _socket: socket.socket

    @abstractmethod
    def _introduced(self, guest: socket.socket) -> Wire | None:
        """A wire to whoever came; None where he came for something else and was sent away."""

    def fileno(self) -> int:
        """For `select`: readable when somebody is there."""
        return self._socket.fileno()

    def admit(self, within_s: float, alarm: Alarm) -> Wire:
        """The first who is expected. Raises GoneError if nobody comes in time."""
        deadline = time.monotonic() + within_s
        while True:
            with suppress(BlockingIOError):
                if (guest := self._introduced(self._socket.accept()[0])) is not None:
                    return guest
            if (left := deadline - time.monotonic()) <= 0:
                raise GoneError("E-PEER-MISSING", f"nobody came within {within_s:g} s", "start the other end too")
            wait([self], left, alarm)

    def close(self) -> None:
        """Nobody is let in any more."""
        self._socket.close()
