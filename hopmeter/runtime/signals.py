"""Handles Ctrl-C and SIGTERM only between operations, so that no operation is left incomplete."""

from __future__ import annotations

import signal
import socket
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from hopmeter.runtime.failures import InterruptedRunError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Alarm:
    """Inside the `with` block, the first signal is only recorded, so that the current operation can finish. A second
    Ctrl-C interrupts the program immediately.

    Python handles signals only in the main thread, so this class does nothing in other threads.
    """

    def __init__(self) -> None:
        self.rung = False
        self._before: dict[signal.Signals, Any] = {}
        self.ear, self._bell = socket.socketpair()
        """The socket `ear` becomes readable when a signal arrives, so that a selector wakes up."""

    def __enter__(self) -> Self:
        for end in (self.ear, self._bell):
            end.setblocking(False)
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ring) for number in SIGNALS}
            self._wakeup = signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self.ear.close()
        self._bell.close()

    def check(self) -> None:
        """Raise InterruptedRunError if a signal was recorded."""
        if self.rung:
            raise InterruptedRunError

    def _ring(self, number: int, _: FrameType | None) -> None:
        if self.rung and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.rung = True
