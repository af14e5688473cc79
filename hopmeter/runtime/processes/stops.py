"""Detects from kernel reports whether a trial's processes were stopped (SIGSTOP), and for how long."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread

from hopmeter.system.processes import stat_fields

STOPPED = ("T", "t")
"""The states in /proc of a process that was stopped by a signal or a debugger."""


def is_stopped(pid: int) -> bool:
    """Return whether a process is currently stopped."""
    fields = stat_fields(pid)
    return bool(fields) and fields[0] in STOPPED


@dataclass
class Stop:
    """A period in which a process was stopped, with start and end times on CLOCK_MONOTONIC. `ended_ns` is None if the
    process is still stopped."""

    began_ns: int
    ended_ns: int | None = None

    def length_ns(self, since_ns: int) -> int:
        """Return for how many nanoseconds the process was stopped after `since_ns`."""
        return max(0, (self.ended_ns or time.monotonic_ns()) - max(since_ns, self.began_ns))


class StopWatch:
    """Records when processes stop and continue. For each process, one thread sleeps until the process changes state."""

    def __init__(self) -> None:
        self._stops: dict[int, list[Stop]] = {}
        self._threads: list[Thread] = []

    def watch(self, pids: Iterable[int]) -> None:
        """Watch child processes of this process. Start all child processes before this call, because forking a
        multithreaded process is unsafe."""
        self._stops = {pid: [] for pid in pids}
        self._threads = [Thread(target=_watch, args=each, daemon=True) for each in self._stops.items()]
        for thread in self._threads:
            thread.start()

    def stopped_s(self, pid: int, since_ns: int) -> float:
        """Return the number of seconds for which a process was stopped after `since_ns`."""
        return sum(stop.length_ns(since_ns) for stop in self._stops.get(pid, [])) / 1e9

    def close(self) -> None:
        """Join the threads. Each thread exits when the process that it watches exits."""
        for thread in self._threads:
            thread.join()


def _watch(pid: int, stops: list[Stop]) -> None:
    with suppress(ChildProcessError):  # the process has exited
        while (seen := os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED)) is not None:
            now_ns = time.monotonic_ns()
            if stops and stops[-1].ended_ns is None:
                stops[-1].ended_ns = now_ns
            if seen.si_code == os.CLD_STOPPED:
                stops.append(Stop(now_ns))
