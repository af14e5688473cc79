"""Evaluates what idle cores do while they wait for the next message, and how long they take to wake up."""

from __future__ import annotations

from hopmeter.machine.finding import Finding, Machine, finding, is_arm
from hopmeter.machine.kernel import UNKNOWN

AWAKE = "compare transports with `hopmeter run --no-idle-states`, which holds /dev/cpu_dma_latency at 0"
LONG_US = 50_000.0
"""If an idle core polls for at least this time, it is still awake when the next image is due."""


def idle_states(machine: Machine) -> Finding:
    """Return a finding on how long a core takes to wake up from its idle states."""
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
        + ("cpuidle.off=1" if is_arm(machine) else "processor.max_cstate=1 intel_idle.max_cstate=1"),
    )


def _awake(machine: Machine) -> Finding:
    """Return a finding on the idle states of a machine on which runs use the option `no_idle_states`. Without an idle
    driver, `no_idle_states` has no effect, because the kernel halts idle cores anyway."""
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
    """Return a finding on a virtual machine whose idle cores halt.

    The kernel cannot report the wake-up latency of halted cores, because the hypervisor wakes them.
    """
    if polls_us >= LONG_US:
        return finding(
            "F-IDLE-STATES",
            "idle states",
            "good",
            f"idle cores of this virtual machine poll for {polls_us:g} us, then halt",
        )
    when = f"after {polls_us:g} us" if polls_us else "immediately"
    return finding(
        "F-IDLE-STATES",
        "idle states",
        "note" if polls_us else "hurts",
        f"idle cores of this virtual machine halt {when}; the hypervisor has to wake them, which delays blocking "
        "receivers",
        f"{AWAKE}: cores then stay awake as on a busy machine",
    )
