"""Evaluates the results of the probes in `noise`."""

from __future__ import annotations

from typing import Any

from hopmeter.machine.finding import Finding, finding

LOST_US = 1000.0
"""At 1000 Hz, a gap of this length noticeably delays a message."""
BUSY_PERCENT = 1.0
STEAL_PERCENT = 0.5
"""Stolen CPU time is reported from this percentage on."""
LATE_US = 100.0
MESSAGE_NS = 80.0
"""The maximum time to record one message. A benchmark in benches/ checks that the instrument needs less than this
time."""
STEP_NS = 30.0
"""If the clock's resolution is coarser than this, measurements of hops below a microsecond are inexact. For example,
ARM counters may tick at about 20 MHz."""


def judge_noise(seen: dict[str, Any]) -> list[Finding]:
    """Return a finding for each probed core, and a finding if CPU time was stolen during the probe."""
    quiet = [core["core"] for core in seen["cores"] if not _is_noisy(core)]
    found = [_core(core, _noise_remedy(quiet)) for core in seen["cores"]]
    stolen = seen["steal_percent"]
    if stolen is not None and stolen >= STEAL_PERCENT:
        found.append(
            finding(
                "F-STEAL",
                "stolen during the check",
                "hurts",
                f"{stolen} % of the observed time",
                "use dedicated cores, and take more trials",
            )
        )
    return found


def _is_noisy(core: dict[str, Any]) -> bool:
    return bool(core["longest_us"] >= LOST_US or core["gaps_percent"] >= BUSY_PERCENT)


def _noise_remedy(quiet: list[int]) -> str:
    """Return the remedy for a noisy core. The remedy names two quiet cores if the machine has two."""
    if len(quiet) >= 2:
        return f"find the other programs there (top, /proc/interrupts), or measure with --cores {quiet[0]},{quiet[1]}"
    return (
        "find the other programs on this core (top, /proc/interrupts); this machine has no two quieter cores, so "
        "measure more rounds, and do not trust tails"
    )


def _core(core: dict[str, Any], remedy: str) -> Finding:
    says = f"longest gap {core['longest_us']:,.0f} us, {core['gaps_per_s']:,.0f} gaps over 10 us per second"
    subject = f"noise on core {core['core']}"
    if _is_noisy(core):
        return finding(
            "F-NOISE",
            subject,
            "hurts",
            f"{says}: the machine itself causes tails up to this length",
            remedy,
        )
    return finding("F-NOISE", subject, "good", says)


def judge_sleep(errors: list[dict[str, Any]]) -> list[Finding]:
    """For each probed sleep time, return a finding that says how much later than requested a thread wakes up on this
    machine."""
    return [_late(error) for error in errors]


def _late(error: dict[str, Any]) -> Finding:
    says = f"{error['p50_us']:,.1f} us late at p50, {error['max_us']:,.1f} us at most, in {error['sleeps']} sleeps"
    subject = f"sleeping {error['asked_ms']:g} ms"
    if error["p50_us"] >= LATE_US:
        return finding(
            "F-WAKE-UP",
            subject,
            "hurts",
            says,
            "usual causes are idle states and frequency; sources spin longer to compensate, blocking receivers cannot",
        )
    return finding("F-WAKE-UP", subject, "good", says)


def judge_cost(cost: dict[str, float]) -> list[Finding]:
    """Return findings on the time that the instrument itself takes for each message, and on the speed at which a core
    copies memory."""
    return [_own(cost), *_copies(cost.get("copy_bytes_per_ns"))]


def _copies(bytes_per_ns: float | None) -> list[Finding]:
    if bytes_per_ns is None:
        return []
    return [
        finding("F-COPY-SPEED", "one core's copies", "good", f"{bytes_per_ns:.1f} GB/s from memory, in blocks of 6 MB")
    ]


def _own(cost: dict[str, float]) -> Finding:
    says = (
        f"{cost['message_ns']:.0f} ns per message, including two clock readings of {cost['clock_ns']:.0f} ns; "
        f"the clock steps by {cost['clock_step_ns']:.0f} ns"
    )
    if cost["message_ns"] > MESSAGE_NS:
        return finding(
            "F-INSTRUMENT",
            "the instrument itself",
            "note",
            says,
            "do not subtract this cost, but consider it for hops below a microsecond",
        )
    if cost["clock_step_ns"] > STEP_NS:
        coarse = (
            "percentiles of hops below a microsecond are no finer than this step; means over many messages are finer"
        )
        return finding("F-INSTRUMENT", "the instrument itself", "note", says, coarse)
    return finding("F-INSTRUMENT", "the instrument itself", "good", says)
