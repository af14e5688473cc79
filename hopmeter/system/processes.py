"""Processes by number and start time: a number alone may have passed to somebody else."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_launcher() -> None:
    """Called in a new process before its program starts: the kernel kills it when the launcher is gone."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it has ended, even if its parent did not reap it."""
    fields = stat_fields(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def stat_fields(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on (field 3 of proc(5)); nothing where there is no process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    # The name of the program may contain spaces and brackets; what follows its last bracket does not.
    return text.rpartition(")")[2].split()


def has_ended(pid: int) -> bool:
    """Whether a child is gone; it is not reaped by asking, so its number stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@dataclass(frozen=True)
class Reading:
    """What a process has used since it started, all its living threads together."""

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
        """What was used in between, in the words of a node's `resources`. User and system are told apart as well as
        the clock's ticks can: all is user's where there was none."""
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
    """What /proc says of a process; its clock ticks are too coarse for a trial, what the scheduler counted is not."""
    folder = Path(f"/proc/{pid}")
    tasks = [_task(task) for task in folder.glob("task/*")]
    cpu_ns, voluntary, involuntary = (sum(task[at] for task in tasks) for at in range(3))
    faults, ticks = _faults_and_ticks(folder)
    used = (cpu_ns, voluntary, involuntary, *faults, _status(folder, "VmHWM") * 1024)
    return Reading(time.monotonic_ns(), *used, *ticks)


def _task(folder: Path) -> tuple[int, int, int]:
    """Nanoseconds on a core, voluntary and involuntary switches of one thread."""
    try:
        cpu_ns = int((folder / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        cpu_ns = 0
    return cpu_ns, _status(folder, "voluntary_ctxt_switches"), _status(folder, "nonvoluntary_ctxt_switches")


def _faults_and_ticks(folder: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """Pages that were found without and with a disk; ticks of the clock in user and system mode."""
    try:
        # Whatever the program calls itself ends with the last parenthesis.
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
    """Tells one boot of this machine from another."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def kill_group(pid: int) -> None:
    """Ends a process that leads its own group, and all it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
