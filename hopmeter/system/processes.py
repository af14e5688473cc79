"""Starts, identifies and measures processes.

A process is identified by its id and start time, because the kernel assigns ids repeatedly.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
DEATH_SIGNAL = ("--pdeathsig", "KILL", "--")
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_launcher() -> None:
    """Make the kernel kill the current process when the launcher ends.

    Call this function in a new process, before the process executes its program.
    """
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@functools.cache
def _setpriv() -> str | None:
    """Return the path of util-linux's `setpriv`, or None if `setpriv` is missing or does not support `--pdeathsig`."""
    path = shutil.which("setpriv")
    if path is None:
        return None
    done = subprocess.run([path, *DEATH_SIGNAL, "true"], capture_output=True, check=False)
    return path if done.returncode == 0 else None


def end_with_launcher(command: Sequence[str]) -> dict[str, Any]:
    """Return the Popen options that start a program and make the kernel kill the program when the launcher ends.

    Starting a program through `setpriv` takes 1 ms. Starting a program with a `preexec_fn` takes 10 to 20 ms, because
    Python copies the launcher's page tables at each start. Raises OSError if the program cannot be executed.
    """
    if not shutil.which(command[0]):
        number = errno.EACCES if Path(command[0]).exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), command[0])
    if (setpriv := _setpriv()) is not None:
        return {"args": [setpriv, *DEATH_SIGNAL, *command]}
    return {"args": command, "preexec_fn": die_with_launcher}


def start_ticks(pid: int) -> int | None:
    """Return a process's start time in clock ticks since boot, or None if the process has ended, even if not yet
    reaped."""
    fields = stat_fields(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat, starting with the process state (field 3 in proc(5)).

    Return an empty list if the process does not exist.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:  # noqa: PTH123 (a Path is three times as slow)
            text = os.fsdecode(file.read())
    except OSError:
        return []
    # The program's name may contain spaces and parentheses, but the fields after the closing parenthesis contain
    # neither.
    return text.rpartition(")")[2].split()


def has_ended(pid: int) -> bool:
    """Return whether a child process has ended. The child process is not reaped, so the kernel does not reuse its
    process id."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@dataclass(frozen=True)
class Reading:
    """The resources that a process has used since its start, summed over the running threads of the process."""

    at_ns: int = 0
    cpu_ns: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    rss_peak_bytes: int = 0
    user_ticks: int = 0
    system_ticks: int = 0

    def since(self, before: Reading) -> dict[str, int]:
        """Return the resources used between two readings, with the keys of a node's `resources`.

        User and system time are the CPU time divided in proportion to the user and system clock ticks. If neither count
        increased, all CPU time counts as user time.
        """
        used_us = max(0, self.cpu_ns - before.cpu_ns) // 1000
        user, system = self.user_ticks - before.user_ticks, self.system_ticks - before.system_ticks
        system_us = used_us * system // (user + system) if user + system > 0 else 0
        return {
            "interval_ns": self.at_ns - before.at_ns,
            "user_us": used_us - system_us,
            "system_us": system_us,
            "voluntary_switches": max(0, self.voluntary_switches - before.voluntary_switches),
            "involuntary_switches": max(0, self.involuntary_switches - before.involuntary_switches),
            "minor_faults": max(0, self.minor_faults - before.minor_faults),
            "major_faults": max(0, self.major_faults - before.major_faults),
            "rss_peak_bytes": self.rss_peak_bytes,
        }


def reading(pid: int) -> Reading:
    """Return the resources that a process has used, according to /proc.

    The CPU time is read from the scheduler's counters, which are more precise than clock ticks.
    """
    folder = Path(f"/proc/{pid}")
    tasks = [_task(task) for task in folder.glob("task/*")]
    cpu_ns, voluntary, involuntary = (sum(task[at] for task in tasks) for at in range(3))
    faults, ticks = _faults_and_ticks(folder)
    used = (cpu_ns, voluntary, involuntary, *faults, _status(folder, "VmHWM") * 1024)
    return Reading(time.monotonic_ns(), *used, *ticks)


def pss_bytes(pid: int) -> int | None:
    """Return a process's proportional set size, or None if the kernel does not report it.

    The proportional set size is the resident memory, where each shared page's size is divided by the number of
    processes that share the page.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), None)
    except (OSError, ValueError, IndexError):
        return None


def _task(folder: Path) -> tuple[int, int, int]:
    """Return a thread's CPU time in nanoseconds, and the numbers of voluntary and involuntary context switches."""
    try:
        cpu_ns = int((folder / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        cpu_ns = 0
    return cpu_ns, _status(folder, "voluntary_ctxt_switches"), _status(folder, "nonvoluntary_ctxt_switches")


def _faults_and_ticks(folder: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two pairs: the (minor, major) page faults and the (user, system) clock ticks of a process."""
    try:
        # The program's name may contain any characters, and ends at the last closing parenthesis.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[7]), int(fields[9])), (int(fields[11]), int(fields[12]))
    except (OSError, ValueError, IndexError):
        return (0, 0), (0, 0)


def _status(folder: Path, name: str) -> int:
    try:
        lines = (folder / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def boot_id() -> str:
    """Return the kernel's id of the current boot, or an empty string if the id cannot be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def kill_group(pid: int) -> None:
    """Kill the process group whose leader has the process id `pid`.

    Do nothing if the group has ended, or if the user may not kill it.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
