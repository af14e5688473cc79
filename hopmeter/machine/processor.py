"""Evaluates the processor: the number, the kinds and the frequency of its cores, and which cores are isolated."""

from __future__ import annotations

from hopmeter.machine.finding import Finding, Machine, finding, plain
from hopmeter.machine.kernel import UNKNOWN


def cores(machine: Machine) -> Finding:
    """Return a finding on the number of available cores."""
    usable = len(machine["usable_cores"])
    says = f"{usable} of {machine['cores']} cores are available"
    if usable < 2:
        return finding(
            "F-CORES",
            "cores",
            "hurts",
            f"{says}, so both endpoints share a core",
            "allow at least two cores (taskset, the container's cpuset), or treat the results as those of `cores = "
            "same`",
        )
    return finding("F-CORES", "cores", "good", says)


def core_kinds(machine: Machine) -> Finding:
    """Return a finding on whether some cores are slower than others."""
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


def governor(machine: Machine) -> Finding:
    """Evaluate the frequency governor."""
    policy = machine["governor"]
    if policy == UNKNOWN:
        return finding(
            "F-GOVERNOR",
            "governor",
            "unknown",
            "the kernel does not show the frequency",
            "in a virtual machine, only the host's settings matter; ask the operator of the host",
        )
    if policy == "performance":
        return finding("F-GOVERNOR", "governor", "good", "performance: the frequency stays up")
    return finding(
        "F-GOVERNOR",
        "governor",
        "hurts",
        f"{policy}: cores slow down between messages, so latency at low rates is too high",
        "sudo cpupower frequency-set -g performance",
    )


def turbo(machine: Machine) -> Finding:
    """Evaluate whether turbo is on."""
    if machine["turbo"] == "on":
        return finding(
            "F-TURBO",
            "turbo",
            "note",
            "on: results depend on the temperature and on the load of other cores",
            "to compare different days, switch turbo off (firmware, or /sys intel_pstate/no_turbo or cpufreq/boost)",
        )
    return plain("F-TURBO", "turbo", machine["turbo"])


def smt(machine: Machine) -> Finding:
    """Return a finding on whether logical cores share a physical core."""
    if machine["smt"] == "on":
        return finding(
            "F-SMT",
            "SMT",
            "note",
            "on: two logical cores share one physical core and its caches",
            "compare only equal `cores`; to switch SMT off: echo off | sudo tee /sys/devices/system/cpu/smt/control",
        )
    return plain("F-SMT", "SMT", machine["smt"])


def isolation(machine: Machine) -> Finding:
    """Return a finding on whether some cores are isolated, so that the scheduler runs no other processes on them."""
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
    """Return a remedy that isolates two cores and leaves at least two other cores for the system and hopmeter."""
    if len(usable) < 4:
        many = f"{len(usable)} cores are" if len(usable) > 1 else "one core is"
        return f"{many} too few to isolate two for endpoints: measure more rounds, or use a machine with four cores"
    named = ",".join(map(str, sorted(usable)[-2:]))
    boot = f"boot with isolcpus={named} nohz_full={named}"
    return f"{boot}, and measure with --cores {named}, so that tails come from the transport alone"
