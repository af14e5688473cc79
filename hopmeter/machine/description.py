"""Describes the machine without evaluating it. The module `advice` evaluates the description."""

from __future__ import annotations

import os
import platform
import re
import time
from collections import Counter
from typing import Any

from hopmeter.machine import arm, limits
from hopmeter.machine.kernel import UNKNOWN, Kernel

WATCHED_S = 0.2
"""How long the CPU time of other processes is measured, in seconds."""
CPU = "sys/devices/system/cpu"
CLOCKS = "sys/devices/system/clocksource/clocksource0"
HYPERVISORS = {
    "qemu": "kvm",
    "kvm": "kvm",
    "openstack": "kvm",
    "amazon ec2": "amazon",
    "google": "google",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "virtual machine": "hyper-v",
    "xen": "xen",
}
"""The hypervisor for each vendor or product name, by a lower-case part of that name."""


def describe(kernel: Kernel | None = None) -> dict[str, Any]:
    """Return all properties of this machine that can affect latency, as flat JSON.

    A value is `unknown` if the kernel does not report the value.
    """
    kernel = kernel or Kernel()
    return {
        **_processor(kernel),
        **_power(kernel),
        **_system(kernel),
        **limits.describe(kernel),
    }


def _processor(kernel: Kernel) -> dict[str, Any]:
    return {
        "cpu_model": _model(kernel),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 0,
        "usable_cores": sorted(os.sched_getaffinity(0)),
        "smt": _smt(kernel),
        "siblings": _siblings(kernel),
        "slower_cores": _slower_cores(kernel),
        "numa_nodes": len(kernel.matching("sys/devices/system/node/node[0-9]*")) or 1,
        "topology_verified": virtualisation(kernel) == "none",
    }


def _model(kernel: Kernel) -> str:
    named = kernel.field("proc/cpuinfo", "model name")
    return named if named != UNKNOWN else arm.model(kernel)


def _smt(kernel: Kernel) -> str:
    """Return whether SMT is `on`, `off` or `unknown`. If the kernel does not report the state, it is derived from the
    core siblings."""
    active = kernel.text(f"{CPU}/smt/active")
    if active == UNKNOWN and _threads(kernel):
        return "on" if _siblings(kernel) else "off"
    return {"1": "on", "0": "off"}.get(active, UNKNOWN)


def _siblings(kernel: Kernel) -> list[str]:
    """Return the groups of logical cores that share a physical core, in the kernel's format (`0-1` or `0,4`)."""
    return sorted(group for group in _threads(kernel) if "," in group or "-" in group)


def _threads(kernel: Kernel) -> set[str]:
    return {kernel.text(str(path)) for path in kernel.matching(f"{CPU}/cpu[0-9]*/topology/thread_siblings_list")}


def _slower_cores(kernel: Kernel) -> list[int]:
    """Return the cores whose capacity is below that of the fastest core, or an empty list if the kernel reports no
    capacities."""
    capacities = {
        int(path.parent.name.removeprefix("cpu")): kernel.number(str(path)) or 0
        for path in kernel.matching(f"{CPU}/cpu[0-9]*/cpu_capacity")
    }
    best = max(capacities.values(), default=0)
    return sorted(core for core, capacity in capacities.items() if capacity < best)


def _power(kernel: Kernel) -> dict[str, Any]:
    return {
        "governor": _governor(kernel),
        "turbo": _turbo(kernel),
        "idle_driver": kernel.text(f"{CPU}/cpuidle/current_driver"),
        "idle_exit_us": _idle_exit_us(kernel),
        "halt_poll_us": _halt_poll_us(kernel),
        "isolated_cores": kernel.text(f"{CPU}/isolated"),
        "tickless_cores": _none(kernel.text(f"{CPU}/nohz_full")),
    }


def _none(text: str) -> str:
    return "" if text == "(null)" else text


def _governor(kernel: Kernel) -> str:
    """Return the frequency governor of the cores or, if the cores differ, each governor with its number of cores."""
    found = Counter(kernel.text(str(path)) for path in kernel.matching(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor"))
    if len(found) > 1:
        return ", ".join(f"{name} ({count} cores)" for name, count in found.most_common())
    return next(iter(found), UNKNOWN)


def _turbo(kernel: Kernel) -> str:
    intel, other = kernel.text(f"{CPU}/intel_pstate/no_turbo"), kernel.text(f"{CPU}/cpufreq/boost")
    if intel != UNKNOWN:
        return "off" if intel == "1" else "on"
    return {"1": "on", "0": "off"}.get(other, UNKNOWN)


def _idle_exit_us(kernel: Kernel) -> int | None:
    """Return the longest wake-up latency, in microseconds, among the enabled idle states, or None if the kernel reports
    no latency."""
    latencies = [
        kernel.number(f"{state}/latency") or 0
        for state in kernel.matching(f"{CPU}/cpu0/cpuidle/state[0-9]*")
        if kernel.text(f"{state}/disable") != "1"
    ]
    return max(latencies, default=None)


def _halt_poll_us(kernel: Kernel) -> int | None:
    """Return how long an idle core of a virtual machine polls before it halts, or None if the driver does not report
    that time."""
    polls_ns = kernel.number("sys/module/haltpoll/parameters/guest_halt_poll_ns")
    driven = kernel.text(f"{CPU}/cpuidle/current_driver") == "haltpoll"
    return polls_ns // 1000 if driven and polls_ns is not None else None


def _system(kernel: Kernel) -> dict[str, Any]:
    return {
        "virtualisation": virtualisation(kernel),
        "clock_source": kernel.text(f"{CLOCKS}/current_clocksource"),
        "thp": kernel.selected_word("sys/kernel/mm/transparent_hugepage/enabled"),
        "autogroup": {"1": "on", "0": "off"}.get(kernel.text("proc/sys/kernel/sched_autogroup_enabled"), UNKNOWN),
        "kernel": kernel.text("proc/sys/kernel/osrelease"),
        "preemption": _preemption(kernel),
        "distribution": kernel.field("etc/os-release", "PRETTY_NAME"),
        "load": _load(kernel),
        "busy_percent": busy_percent(kernel),
        "steal_percent": steal_percent(kernel),
    }


def virtualisation(kernel: Kernel) -> str:
    """Return `none` if there is no hypervisor, the hypervisor's name, or `yes` if the hypervisor hides its name."""
    flags = kernel.field("proc/cpuinfo", "flags")
    named = kernel.text("sys/hypervisor/type")
    maker = f"{kernel.text('sys/class/dmi/id/sys_vendor')} {kernel.text('sys/class/dmi/id/product_name')}".lower()
    if named != UNKNOWN:
        return named
    kind = next((name for mark, name in HYPERVISORS.items() if mark in maker), None)
    if kind is None and "hypervisor" in flags.split():
        return "kvm" if "kvm" in kernel.text(f"{CLOCKS}/available_clocksource") else "yes"
    return kind or (arm.virtualisation(kernel) if flags == UNKNOWN else "none")


def _preemption(kernel: Kernel) -> str:
    if kernel.text("sys/kernel/realtime") == "1":
        return "real-time"
    version = kernel.text("proc/sys/kernel/version")
    words = {"PREEMPT_RT": "real-time", "PREEMPT_DYNAMIC": "dynamic", "PREEMPT": "full"}
    return next((meaning for word, meaning in words.items() if word in version.split()), "voluntary or none")


def _load(kernel: Kernel) -> float | None:
    try:
        return float(kernel.text("proc/loadavg").split()[0])
    except (ValueError, IndexError):
        return None


def busy_percent(kernel: Kernel, seconds: float = WATCHED_S) -> float | None:
    """Return the percentage of the usable cores' time that other processes use while this process sleeps, or None if it
    is unknown."""
    before = _core_ticks(kernel)
    time.sleep(seconds)
    after = _core_ticks(kernel)
    usable = [f"cpu{core}" for core in os.sched_getaffinity(0)]
    spans = [(after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in usable if name in after]
    ticks = sum(span for span, _ in spans)
    return round(100 * (1 - sum(idle for _, idle in spans) / ticks), 1) if ticks > 0 else None


def _core_ticks(kernel: Kernel) -> dict[str, tuple[int, int]]:
    """Return, for each core, the number of all clock ticks and of idle ticks since boot. Ticks during which a core
    waits for a disk count as idle."""
    lines = [line.split() for line in kernel.text("proc/stat").splitlines() if re.match(r"cpu\d", line)]
    counted = {words[0]: [int(word) for word in words[1:9]] for words in lines if len(words) >= 9}
    return {name: (sum(ticks), ticks[3] + ticks[4]) for name, ticks in counted.items()}


def cpu_ticks(kernel: Kernel) -> tuple[int, int] | None:
    """Return the number of all clock ticks and of stolen ticks since boot, over all cores, or None if the kernel does
    not report them."""
    first = kernel.text("proc/stat").partition("\n")[0].split()
    if not first or first[0] != "cpu" or len(first) < 9:
        return None
    ticks = [int(word) for word in first[1:9]]
    return sum(ticks), ticks[7]


def steal_percent(kernel: Kernel) -> float | None:
    """Return the percentage of CPU time that the hypervisor has given to other virtual machines since boot."""
    ticks = cpu_ticks(kernel)
    return round(100 * ticks[1] / ticks[0], 3) if ticks and ticks[0] else None
