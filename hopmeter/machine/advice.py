"""Evaluates a machine. Each finding states a fact about the machine, how the fact affects latency, and a remedy."""

from __future__ import annotations

from hopmeter.machine import allowed, processor
from hopmeter.machine import description as machines
from hopmeter.machine.finding import Finding, Machine, finding, is_arm, plain
from hopmeter.machine.idle_states import idle_states
from hopmeter.machine.kernel import UNKNOWN
from hopmeter.machine.multicast import LOOPBACK, NONE


def findings(machine: Machine | None = None) -> list[Finding]:
    """Return the findings about a machine, in the order in which they are displayed.

    If no machine is given, the findings are about this machine, which `description.describe()` describes.
    """
    machine = machines.describe() if machine is None else machine
    return [judge(machine) for judge in JUDGES]


BUSY_PERCENT = 10.0
"""If other processes use more than this percentage of the usable cores, they disturb a measurement."""


def worth_telling(found: list[Finding]) -> list[Finding]:
    """Return those findings that a report shows: the findings with the level `note` or `hurts`."""
    return [one for one in found if one["level"] in ("note", "hurts")]


def _clock(machine: Machine) -> Finding:
    source = machine["clock_source"]
    if source in ("tsc", "arch_sys_counter", "kvm-clock"):
        return finding("F-CLOCK-SOURCE", "clock source", "good", f"{source}: reading it needs no system call")
    if source == UNKNOWN:
        return finding(
            "F-CLOCK-SOURCE", "clock source", "unknown", "the kernel does not report it", "see the clock's cost below"
        )
    return finding(
        "F-CLOCK-SOURCE",
        "clock source",
        "hurts",
        f"{source}: each reading takes a system call or a slow device",
        "boot with clocksource=arch_sys_counter"
        if is_arm(machine)
        else "boot with tsc=reliable clocksource=tsc, if the processor's counter is invariant",
    )


def _autogroup(machine: Machine) -> Finding:
    if machine["autogroup"] == "on":
        return finding(
            "F-AUTOGROUP",
            "autogroup",
            "note",
            "on: sessions share a core equally; each node has its own session, like programs in separate terminals",
            "`sudo sysctl kernel.sched_autogroup_enabled=0` shows its cost for endpoints that share a core",
        )
    return plain("F-AUTOGROUP", "autogroup", machine["autogroup"])


def _huge_pages(machine: Machine) -> Finding:
    if machine["thp"] == "always":
        return finding(
            "F-HUGE-PAGES",
            "huge pages",
            "note",
            "always: the kernel may stop a process to merge pages",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return plain("F-HUGE-PAGES", "huge pages", machine["thp"])


def _virtual(machine: Machine) -> Finding:
    kind = machine["virtualisation"]
    if kind == "none":
        return finding("F-VIRTUAL-MACHINE", "virtual machine", "good", "none: the kernel reports the real topology")
    if kind == UNKNOWN:
        return finding("F-VIRTUAL-MACHINE", "virtual machine", "unknown", "the kernel does not report it")
    return finding(
        "F-VIRTUAL-MACHINE",
        "virtual machine",
        "note",
        f"{kind}: the physical cores are unknown; waking another core costs an interrupt",
        "compare only results of one run, and pin both endpoints",
    )


def _steal(machine: Machine) -> Finding:
    stolen = machine["steal_percent"]
    if stolen is None:
        return finding("F-STEAL", "steal time", "unknown", "the kernel does not count it")
    if stolen < 0.5:
        return finding("F-STEAL", "steal time", "good", f"{stolen} % since boot")
    return finding(
        "F-STEAL",
        "steal time",
        "hurts",
        f"{stolen} % since boot: the hypervisor gives these cores to other guests",
        "measure when the host is idle, use dedicated cores, and measure more trials",
    )


def _load(machine: Machine) -> Finding:
    """Return a finding on the current load from other processes. The load average is used only if the CPU use is
    unknown, because it may still include a run that has just ended."""
    load, busy = machine["load"], machine.get("busy_percent")
    if load is None and busy is None:
        return finding("F-LOAD", "load", "unknown", "the kernel does not report it")
    if busy is None:
        is_idle, says = load < 0.3 * len(machine["usable_cores"]), f"{load} over the last minute"
    else:
        is_idle, says = busy < BUSY_PERCENT, f"other processes keep these cores {busy:g} % busy now"
    if is_idle:
        return finding("F-LOAD", "load", "good", says)
    return finding(
        "F-LOAD", "load", "hurts", says, "stop other programs (`top` shows them), or wait, before you measure"
    )


def _multicast(machine: Machine) -> Finding:
    device = machine["multicast"]
    remedy = "as root: ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo"
    if device == LOOPBACK:
        return finding(
            "F-MULTICAST", "loopback multicast", "good", "multicast messages return through the loopback device"
        )
    if device == NONE:
        return finding(
            "F-MULTICAST",
            "loopback multicast",
            "hurts",
            "no multicast message returns: LCM and DDS discovery find no peers",
            remedy,
        )
    says = f"{device} returns multicast messages, but only in small packets; TCP and Unix sockets need no multicast"
    return finding("F-MULTICAST", "loopback multicast", "note", says, f"if you use LCM or DDS, {remedy}")


def _preemption(machine: Machine) -> Finding:
    return finding("F-PREEMPTION", "preemption", "good", f"{machine['preemption']}, Linux {machine['kernel']}")


JUDGES = (
    processor.cores,
    processor.core_kinds,
    processor.governor,
    processor.turbo,
    idle_states,
    processor.smt,
    processor.isolation,
    _clock,
    _huge_pages,
    _autogroup,
    _virtual,
    _steal,
    _load,
    allowed.container,
    allowed.quota,
    allowed.memory,
    allowed.shared_memory,
    allowed.locked_memory,
    allowed.real_time,
    _multicast,
    _preemption,
)
