"""Judge a machine: each finding states a fact, its effect on latency and the remedy."""

from __future__ import annotations

from hopmeter.machine import allowed
from hopmeter.machine import description as machines
from hopmeter.machine.finding import Finding, Machine, finding
from hopmeter.machine.kernel import UNKNOWN
from hopmeter.machine.multicast import LOOPBACK, NONE


def findings(machine: Machine | None = None) -> list[Finding]:
    """Judge a machine as `description.describe()` returns it (this machine by default), in the order for a reader."""
    machine = machines.describe() if machine is None else machine
    return [judge(machine) for judge in JUDGES]


AWAKE = "compare transports with `hopmeter run --no-idle-states`, which holds /dev/cpu_dma_latency at 0"
BUSY_PERCENT = 10.0
"""Other processes disturb a measurement if they use more than this share of the usable cores."""
LONG_US = 50_000.0
"""A core that polls for at least this long is still awake when the next image is due."""


def worth_telling(found: list[Finding]) -> list[Finding]:
    """Return the findings that a report shows, without the good ones."""
    return [one for one in found if one["level"] in ("note", "hurts")]


def _cores(machine: Machine) -> Finding:
    usable = len(machine["usable_cores"])
    says = f"{usable} of {machine['cores']} cores are available"
    if usable < 2:
        return finding(
            "F-CORES",
            "cores",
            "hurts",
            f"{says}, so both endpoints share a core",
            "allow at least two cores (taskset, the container's cpuset), or read the results as `cores = same`",
        )
    return finding("F-CORES", "cores", "good", says)


def _core_kinds(machine: Machine) -> Finding:
    slower = machine.get("slower_cores", [])
    if not slower:
        return finding("F-CORE-KINDS", "kinds of cores", "good", "the kernel reports one kind of core")
    fast = [core for core in machine["usable_cores"] if core not in slower]
    return finding(
        "F-CORE-KINDS",
        "kinds of cores",
        "note",
        f"{', '.join(map(str, slower))} are slower than the others, so latency depends on the cores of the endpoints",
        f"compare only rows with equal --cores{f', such as {fast[-2]},{fast[-1]}' if len(fast) > 1 else ''}",
    )


def _governor(machine: Machine) -> Finding:
    governor = machine["governor"]
    if governor == UNKNOWN:
        return finding(
            "F-GOVERNOR",
            "governor",
            "unknown",
            "the kernel does not show the frequency",
            "in a virtual machine only the settings of the host matter; ask its operator",
        )
    if governor == "performance":
        return finding("F-GOVERNOR", "governor", "good", "performance: the frequency stays up")
    return finding(
        "F-GOVERNOR",
        "governor",
        "hurts",
        f"{governor}: cores slow down between messages, so latency at low rates is too high",
        "sudo cpupower frequency-set -g performance",
    )


def _turbo(machine: Machine) -> Finding:
    if machine["turbo"] == "on":
        return finding(
            "F-TURBO",
            "turbo",
            "note",
            "on: results depend on the temperature and on the load of other cores",
            "to compare different days, switch turbo off (firmware, or /sys intel_pstate/no_turbo or cpufreq/boost)",
        )
    return _plain("F-TURBO", "turbo", machine["turbo"])


def _plain(code: str, subject: str, value: str) -> Finding:
    if value == UNKNOWN:
        return finding(code, subject, "unknown", "the kernel does not report this value")
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
            "the kernel shows no idle states; a hypervisor may use its own",
            "pin both endpoints, and prefer a closed pace or high rates when you compare",
        )
    if exit_us <= 10:
        return finding("F-IDLE-STATES", "idle states", "good", f"waking a core takes at most {exit_us} us")
    return finding(
        "F-IDLE-STATES",
        "idle states",
        "hurts",
        f"waking a core from the deepest state takes {exit_us} us; this delays every blocking receiver",
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
            "`no_idle_states` has no effect here: without an idle driver the kernel halts idle cores anyway",
            "boot with idle=poll to keep cores awake, or omit `no_idle_states`",
        )
    return finding("F-IDLE-STATES", "idle states", "good", "none: idle cores stay awake during the measurement")


def _halting(polls_us: float) -> Finding:
    """Judge a guest whose cores halt. The kernel cannot report the wake-up latency, because the hypervisor wakes the
    core."""
    if polls_us >= LONG_US:
        return finding(
            "F-IDLE-STATES",
            "idle states",
            "good",
            f"idle cores of this guest poll for {polls_us:g} us, then halt",
        )
    when = f"after {polls_us:g} us" if polls_us else "at once"
    return finding(
        "F-IDLE-STATES",
        "idle states",
        "note" if polls_us else "hurts",
        f"idle cores of this guest halt {when}; the hypervisor has to wake them, which delays blocking receivers",
        f"{AWAKE}: cores then stay awake as on a busy machine",
    )


def _smt(machine: Machine) -> Finding:
    if machine["smt"] == "on":
        return finding(
            "F-SMT",
            "SMT",
            "note",
            "on: two logical cores share one physical core and its caches",
            "compare only equal `cores`; to switch SMT off: echo off | sudo tee /sys/devices/system/cpu/smt/control",
        )
    return _plain("F-SMT", "SMT", machine["smt"])


def _isolation(machine: Machine) -> Finding:
    isolated = machine["isolated_cores"]
    if isolated not in ("", UNKNOWN):
        return finding(
            "F-ISOLATED-CORES",
            "isolated cores",
            "good",
            f"{isolated}: the scheduler places no other processes on these cores; select them with --cores",
        )
    return finding(
        "F-ISOLATED-CORES",
        "isolated cores",
        "note",
        "none: other processes may run on the measured cores",
        _isolation_remedy(machine["usable_cores"]),
    )


def _isolation_remedy(usable: list[int]) -> str:
    """Name two cores of this machine, and leave at least two to the system and to hopmeter itself."""
    if len(usable) < 4:
        many = f"{len(usable)} cores are" if len(usable) > 1 else "one core is"
        return f"{many} too few to isolate two for the endpoints: measure more rounds, or use a machine with four cores"
    named = ",".join(map(str, sorted(usable)[-2:]))
    boot = f"boot with isolcpus={named} nohz_full={named}"
    return f"{boot}, and measure with --cores {named}, so that tails come from the transport alone"


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
            "on: sessions share a core equally; each node has its own session, like programs in separate terminals",
            "`sudo sysctl kernel.sched_autogroup_enabled=0` shows its cost for endpoints that share a core",
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
        "measure when the host is quiet, use dedicated cores, and take more trials",
    )


def _load(machine: Machine) -> Finding:
    """Judge the load of other processes now; the load of the last minute may come from a run that has just ended."""
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
    says = f"{device} returns multicast messages, in small packets; TCP and Unix sockets need no multicast"
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
