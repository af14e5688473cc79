"""Judge a machine: each finding states a fact, its effect on latency and the remedy."""

from __future__ import annotations

from hopmeter.machine import allowed
from hopmeter.machine import description as machines
from hopmeter.machine.finding import Finding, Machine, finding
from hopmeter.machine.kernel import UNKNOWN
from hopmeter.machine.multicast import LOOPBACK, NONE


def findings(machine: Machine | None = None) -> list[Finding]:
    """Judge a machine as `description.describe()` returns it (this machine by default), in the order a person would
    look."""
    machine = machines.describe() if machine is None else machine
    return [judge(machine) for judge in JUDGES]


AWAKE = "compare transports with `hopmeter run --no-idle-states`, which holds /dev/cpu_dma_latency at 0"
LONG_US = 50_000.0
"""A core that polls for this long has not halted when the next image is due."""


def worth_telling(found: list[Finding]) -> list[Finding]:
    """Return the findings that a report shows; good ones are left out."""
    return [one for one in found if one["level"] in ("note", "hurts")]


def _cores(machine: Machine) -> Finding:
    usable = len(machine["usable_cores"])
    says = f"{usable} of {machine['cores']} cores are ours"
    if usable < 2:
        return finding(
            "F-CORES",
            "cores",
            "hurts",
            f"{says}: both ends share one",
            "allow two cores at least (taskset, the container's cpuset), or read the figures as `cores = same`",
        )
    return finding("F-CORES", "cores", "good", says)


def _core_kinds(machine: Machine) -> Finding:
    slower = machine.get("slower_cores", [])
    if not slower:
        return finding("F-CORE-KINDS", "kinds of cores", "good", "one, as far as the kernel says")
    fast = [core for core in machine["usable_cores"] if core not in slower]
    return finding(
        "F-CORE-KINDS",
        "kinds of cores",
        "note",
        f"{', '.join(map(str, slower))} are slower than the others: where the ends run decides",
        f"compare only equal --cores{f', such as {fast[-2]},{fast[-1]}' if len(fast) > 1 else ''}",
    )


def _governor(machine: Machine) -> Finding:
    governor = machine["governor"]
    if governor == UNKNOWN:
        return finding(
            "F-GOVERNOR",
            "governor",
            "unknown",
            "the frequency is not ours to see",
            "in a virtual machine only the host's settings count: ask who runs it",
        )
    if governor == "performance":
        return finding("F-GOVERNOR", "governor", "good", "performance: the frequency stays up")
    return finding(
        "F-GOVERNOR",
        "governor",
        "hurts",
        f"{governor}: cores slow down between messages, low rates look worse than they are",
        "sudo cpupower frequency-set -g performance",
    )


def _turbo(machine: Machine) -> Finding:
    if machine["turbo"] == "on":
        return finding(
            "F-TURBO",
            "turbo",
            "note",
            "on: figures depend on heat and on what the other cores do",
            "to compare days, switch it off: in the firmware, or in /sys intel_pstate/no_turbo or cpufreq/boost",
        )
    return _plain("F-TURBO", "turbo", machine["turbo"])


def _plain(code: str, subject: str, value: str) -> Finding:
    if value == UNKNOWN:
        return finding(code, subject, "unknown", "the kernel does not say")
    return finding(code, subject, "good", value)


def _idle_states(machine: Machine) -> Finding:
    exit_us = machine["idle_exit_us"]
    if machine.get("no_idle_states"):
        return _awake(machine)
    if machine.get("halt_poll_us") is not None:
        return _halting(machine["halt_poll_us"])
    if exit_us is None:
        return finding(
            "F-IDLE-STATES",
            "idle states",
            "unknown",
            "none to be seen here; a hypervisor may use its own",
            "pin both ends and prefer closed or high rates when you compare",
        )
    if exit_us <= 10:
        return finding("F-IDLE-STATES", "idle states", "good", f"waking takes {exit_us} us at most")
    return finding(
        "F-IDLE-STATES",
        "idle states",
        "hurts",
        f"waking from the deepest takes {exit_us} us, which every blocking wait pays",
        f"{AWAKE}, or boot with "
        + ("cpuidle.off=1" if _is_arm(machine) else "processor.max_cstate=1 intel_idle.max_cstate=1"),
    )


def _awake(machine: Machine) -> Finding:
    """Judge a machine without an idle driver: its kernel halts cores without regard to their wake-up latency."""
    if machine.get("idle_driver", "none") in ("none", UNKNOWN):
        return finding(
            "F-AWAKE",
            "idle states",
            "hurts",
            "`no_idle_states` was asked for in vain: without a driver of idle states idle cores halt all the same",
            "boot with idle=poll to keep cores awake, or leave `no_idle_states` out",
        )
    return finding("F-IDLE-STATES", "idle states", "good", "none: idle cores are kept awake while this is measured")


def _halting(polls_us: float) -> Finding:
    """Judge a guest whose cores halt. The kernel knows no latency for that, because the hypervisor wakes the core."""
    if polls_us >= LONG_US:
        return finding(
            "F-IDLE-STATES",
            "idle states",
            "good",
            f"idle cores of this guest look for work for {polls_us:g} us, then halt",
        )
    when = f"after {polls_us:g} us" if polls_us else "at once"
    return finding(
        "F-IDLE-STATES",
        "idle states",
        "note" if polls_us else "hurts",
        f"idle cores of this guest halt {when}, and only the hypervisor wakes them: blocking waits across cores pay",
        f"{AWAKE}, as those of a busy machine are",
    )


def _smt(machine: Machine) -> Finding:
    if machine["smt"] == "on":
        return finding(
            "F-SMT",
            "SMT",
            "note",
            "on: two logical cores share one physical core and its caches",
            "compare only equal `cores`; echo off | sudo tee /sys/devices/system/cpu/smt/control switches it off",
        )
    return _plain("F-SMT", "SMT", machine["smt"])


def _isolation(machine: Machine) -> Finding:
    isolated = machine["isolated_cores"]
    if isolated not in ("", UNKNOWN):
        return finding(
            "F-ISOLATED-CORES",
            "isolated cores",
            "good",
            f"{isolated}: the scheduler keeps others off them; give them with --cores",
        )
    return finding(
        "F-ISOLATED-CORES",
        "isolated cores",
        "note",
        "none: anything may run where messages are measured",
        "boot with isolcpus=2,3 nohz_full=2,3 (your cores) for tails that are the transport's own",
    )


def _clock(machine: Machine) -> Finding:
    source = machine["clock_source"]
    if source in ("tsc", "arch_sys_counter", "kvm-clock"):
        return finding("F-CLOCK-SOURCE", "clock source", "good", f"{source}: read without entering the kernel")
    if source == UNKNOWN:
        return finding(
            "F-CLOCK-SOURCE", "clock source", "unknown", "the kernel does not say", "see the clock's cost below"
        )
    return finding(
        "F-CLOCK-SOURCE",
        "clock source",
        "hurts",
        f"{source}: reading it takes a system call or a slow device",
        "boot with clocksource=arch_sys_counter"
        if _is_arm(machine)
        else "boot with tsc=reliable clocksource=tsc, if the processor's counter is invariant",
    )


def _is_arm(machine: Machine) -> bool:
    return machine.get("architecture") == "aarch64"


def _autogroup(machine: Machine) -> Finding:
    if machine["autogroup"] == "on":
        return finding(
            "F-AUTOGROUP",
            "autogroup",
            "note",
            "on: a core is shared by sessions; each node has one, as programs in terminals of their own have",
            "`sudo sysctl kernel.sched_autogroup_enabled=0` shows what that costs where ends share a core",
        )
    return _plain("F-AUTOGROUP", "autogroup", machine["autogroup"])


def _huge_pages(machine: Machine) -> Finding:
    if machine["thp"] == "always":
        return finding(
            "F-HUGE-PAGES",
            "huge pages",
            "note",
            "always: the kernel may stop a process to merge pages",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return _plain("F-HUGE-PAGES", "huge pages", machine["thp"])


def _virtual(machine: Machine) -> Finding:
    kind = machine["virtualisation"]
    if kind == "none":
        return finding(
            "F-VIRTUAL-MACHINE", "virtual machine", "good", "none: the topology is what the kernel says it is"
        )
    if kind == UNKNOWN:
        return finding("F-VIRTUAL-MACHINE", "virtual machine", "unknown", "the kernel does not say")
    return finding(
        "F-VIRTUAL-MACHINE",
        "virtual machine",
        "note",
        f"{kind}: which physical cores these are is unverified; waking another costs an interrupt",
        "compare within one run only, and pin both ends",
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
        f"{stolen} % since boot: the hypervisor gives these cores to others",
        "measure when the host is quiet, use dedicated cores, and take more trials",
    )


def _load(machine: Machine) -> Finding:
    load = machine["load"]
    if load is None:
        return finding("F-LOAD", "load", "unknown", "the kernel does not say")
    if load < 0.3 * len(machine["usable_cores"]):
        return finding("F-LOAD", "load", "good", f"{load} over the last minute")
    return finding(
        "F-LOAD",
        "load",
        "hurts",
        f"{load} over the last minute: others want these cores too",
        "stop what else runs, or wait, before you measure",
    )


def _multicast(machine: Machine) -> Finding:
    device = machine["multicast"]
    remedy = "as root: ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo"
    if device == LOOPBACK:
        return finding(
            "F-MULTICAST", "loopback multicast", "good", "messages to a group come back by the loopback device"
        )
    if device == NONE:
        return finding(
            "F-MULTICAST",
            "loopback multicast",
            "hurts",
            "none comes back: LCM and the discovery of DDS find nobody",
            remedy,
        )
    says = f"it is looped back at {device}, in its small packets; TCP and Unix sockets do without"
    return finding("F-MULTICAST", "loopback multicast", "note", says, f"only for LCM and DDS, {remedy}")


def _preemption(machine: Machine) -> Finding:
    return finding("F-PREEMPTION", "preemption", "good", f"{machine['preemption']}, Linux {machine['kernel']}")


JUDGES = (
    _cores,
    _core_kinds,
    _governor,
    _turbo,
    _idle_states,
    _smt,
    _isolation,
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
