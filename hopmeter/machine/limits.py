"""Reads the limits of this process on CPU time, memory and priority, and detects containers, shared memory and
multicast."""

from __future__ import annotations

import os
import resource
from pathlib import PurePosixPath
from typing import Any

from hopmeter.machine.kernel import UNKNOWN, Kernel
from hopmeter.machine.multicast import multicast

NO_LIMIT = 1 << 60
"""The largest number of bytes that is a real limit. Version 1 of cgroups reports a larger number if there is no
limit."""
IPC_LOCK = 14
SYS_NICE = 23
"""The bit numbers of two capabilities in the set of effective capabilities.

Root privileges are not enough, because containers drop some capabilities.
"""
HIGHEST = 99
"""The highest real-time priority of Linux."""


def describe(kernel: Kernel) -> dict[str, Any]:
    """Return the value of each limit, keyed by the limit's name. The value None means, depending on the limit, either
    that there is no limit or that the limit is unknown."""
    return {
        "container": container(kernel),
        "cgroup_cpus": cgroup_cpus(kernel),
        "cgroup_memory_mb": _cgroup_memory_mb(kernel),
        "cgroup_throttled": _throttle_count(kernel),
        "memory_mb": _memory_mb(kernel),
        "shm_mb": _shm_mb(kernel),
        "memlock_kb": _limit_kb(resource.RLIMIT_MEMLOCK),
        "rtprio": _limit(resource.RLIMIT_RTPRIO),
        "may_lock_memory": _capable(kernel, IPC_LOCK) or _limit(resource.RLIMIT_MEMLOCK) == "unlimited",
        "may_go_real_time": _capable(kernel, SYS_NICE) or _limit(resource.RLIMIT_RTPRIO) != 0,
        "multicast": multicast(),
    }


def container(kernel: Kernel) -> str:
    """Return the kind of container in which this process runs, or `none`."""
    if kernel.exists(".dockerenv"):
        return "docker"
    if kernel.exists("run/.containerenv"):
        return "podman"
    named = kernel.text("run/systemd/container")
    if named != UNKNOWN:
        return named
    marks = ("docker", "kubepods", "lxc", "containerd")
    return next((mark for mark in marks if mark in kernel.text("proc/1/cgroup")), "none")


def _own_groups(kernel: Kernel) -> list[str]:
    """Return this process's cgroup (version 2) and all its parents, each of which may set a limit."""
    for line in kernel.text("proc/self/cgroup").splitlines():
        if line.startswith("0::"):
            path = PurePosixPath(line[3:].strip("/"))
            return [str(PurePosixPath("sys/fs/cgroup") / part) for part in (path, *path.parents)]
    return ["sys/fs/cgroup"]


def cgroup_cpus(kernel: Kernel) -> float | None:
    """Return the number of cores whose time the cgroups grant, or None if CPU time is not limited."""
    quotas = [_quota(kernel.text(f"{group}/cpu.max")) for group in _own_groups(kernel)]
    legacy_us = kernel.number("sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    period_us = kernel.number("sys/fs/cgroup/cpu/cpu.cfs_period_us")
    if legacy_us and period_us and legacy_us > 0:
        quotas.append(legacy_us / period_us)
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(text: str) -> float | None:
    words = text.split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def _cgroup_memory_mb(kernel: Kernel) -> int | None:
    limits = [kernel.number(f"{group}/memory.max") for group in _own_groups(kernel)]
    legacy = kernel.number("sys/fs/cgroup/memory/memory.limit_in_bytes")
    limits.append(legacy if legacy and legacy < NO_LIMIT else None)
    return min((limit // 2**20 for limit in limits if limit is not None), default=None)


def _throttle_count(kernel: Kernel) -> int | None:
    """Return how often the cgroup's quota has throttled its processes so far, or None if the number is unknown."""
    for group in _own_groups(kernel):
        for line in kernel.text(f"{group}/cpu.stat").splitlines():
            name, _, count = line.partition(" ")
            if name == "nr_throttled":
                return int(count)
    return None


def _memory_mb(kernel: Kernel) -> int | None:
    words = kernel.field("proc/meminfo", "MemTotal").split()
    return int(words[0]) // 1024 if words and words[0].isdigit() else None


def _shm_mb(kernel: Kernel) -> int | None:
    """Return the free shared memory in megabytes, or None if there is no /dev/shm."""
    try:
        room = os.statvfs(kernel.root / "dev/shm")
    except OSError:
        return None
    return room.f_bavail * room.f_frsize // 2**20


def _capable(kernel: Kernel, bit: int) -> bool:
    try:
        return bool(int(kernel.field("proc/self/status", "CapEff"), 16) >> bit & 1)
    except ValueError:
        return False


def highest_priority(kernel: Kernel) -> int:
    """Return the highest SCHED_FIFO priority that this user may set, or 0 if this user may not set any."""
    limit = _limit(resource.RLIMIT_RTPRIO)
    return HIGHEST if _capable(kernel, SYS_NICE) or limit == "unlimited" else min(HIGHEST, int(limit))


def _limit(which: int) -> int | str:
    soft, _ = resource.getrlimit(which)
    return "unlimited" if soft == resource.RLIM_INFINITY else soft


def _limit_kb(which: int) -> int | str:
    limit = _limit(which)
    return limit if isinstance(limit, str) else limit // 1024
