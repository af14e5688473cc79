"""Evaluates the rights of this process and its limits on CPU time and memory."""

from __future__ import annotations

from hopmeter.machine.finding import Finding, Machine, finding

ENOUGH_MB = 2048
"""The memory in MB that is enough for the nodes, their samples and the largest images of the scenarios."""


def container(machine: Machine) -> Finding:
    """Return a finding on whether this process runs in a container."""
    if machine["container"] == "none":
        return finding("F-CONTAINER", "container", "good", "none")
    return finding(
        "F-CONTAINER",
        "container",
        "note",
        f"{machine['container']}: the results include the effects of its network, limits and seccomp filter",
        "compare only with results from the same kind of container",
    )


def quota(machine: Machine) -> Finding:
    """Return a finding on how much CPU time the cgroup grants."""
    cpus, throttled = machine["cgroup_cpus"], machine["cgroup_throttled"] or 0
    if cpus is None:
        return finding("F-CPU-QUOTA", "CPU quota", "good", "none")
    if cpus >= len(machine["usable_cores"]) and not throttled:
        return finding("F-CPU-QUOTA", "CPU quota", "good", f"{cpus:g} cores, all of them")
    return finding(
        "F-CPU-QUOTA",
        "CPU quota",
        "hurts",
        f"{cpus:g} cores, throttled {throttled} times so far: the kernel stops a spinning receiver for milliseconds",
        "run without a CPU limit (docker: omit --cpus), or use a cpuset instead",
    )


def memory(machine: Machine) -> Finding:
    """Return a finding on how much memory the cgroup grants."""
    limit, whole = machine["cgroup_memory_mb"], machine["memory_mb"]
    if limit is None or (whole is not None and limit >= whole):
        return finding("F-MEMORY-LIMIT", "memory limit", "good", "none")
    if limit >= ENOUGH_MB:
        return finding("F-MEMORY-LIMIT", "memory limit", "good", f"{limit} MB for all nodes together")
    return finding(
        "F-MEMORY-LIMIT",
        "memory limit",
        "hurts",
        f"{limit} MB for all nodes together: with large frames or long trials the kernel kills a node",
        "run without a memory limit (docker: omit --memory), or with at least 2 GB",
    )


def shared_memory(machine: Machine) -> Finding:
    """Return a finding on how much shared memory is free."""
    room = machine["shm_mb"]
    if room is None:
        return finding(
            "F-SHARED-MEMORY", "shared memory", "unknown", "there is no /dev/shm", "mount -t tmpfs tmpfs /dev/shm"
        )
    if room >= 256:
        return finding("F-SHARED-MEMORY", "shared memory", "good", f"{room} MB free in /dev/shm")
    return finding(
        "F-SHARED-MEMORY",
        "shared memory",
        "hurts",
        f"{room} MB free in /dev/shm: too little for large images in some transports",
        "remove unused files in /dev/shm; in docker, use docker run --shm-size=1g",
    )


def locked_memory(machine: Machine) -> Finding:
    """Return a finding on whether this process may lock memory."""
    limit = machine["memlock_kb"]
    if machine["may_lock_memory"]:
        return finding("F-LOCKED-MEMORY", "locked memory", "good", "you can use `mlock`")
    return finding(
        "F-LOCKED-MEMORY",
        "locked memory",
        "note",
        f"{limit} kB: the kernel will refuse `mlock`",
        "ulimit -l unlimited, or set `memlock` in /etc/security/limits.conf",
    )


def real_time(machine: Machine) -> Finding:
    """Return a finding on whether this process may use real-time priority."""
    if machine["may_go_real_time"]:
        return finding("F-REAL-TIME", "real-time priority", "good", "you can use `fifo`")
    return finding(
        "F-REAL-TIME",
        "real-time priority",
        "note",
        "not allowed: the kernel will refuse the scheduling policy `fifo`",
        "set `rtprio` in /etc/security/limits.conf",
    )
