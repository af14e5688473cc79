"""Formats the conclusion of `hopmeter doctor`, which says which results you can trust if they are measured on this
machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hopmeter.machine.finding import Finding

FIRST = {"F-LOAD", "F-CORES", "F-CPU-QUOTA", "F-CLOCK-SOURCE"}
"""Findings that distort medians, not only tails. The remedies for these findings come first."""
TAILS = {"F-NOISE", "F-STEAL"}
SLOW = {"F-FLOORS"}
WAKING = {"F-IDLE-STATES", "F-AWAKE", "F-WAKE-UP", "F-GOVERNOR"}


def trust(findings: Sequence[Finding]) -> str:
    """Return sentences that say, based on the machine's findings, which results from this machine you can trust."""
    first, slow, tails, waking = (_subjects(findings, codes) for codes in (FIRST, SLOW, TAILS, WAKING))
    said = [f"Before you measure, remove the causes that also distort medians: {first}."] if first else []
    if slow:
        said.append(
            f"Even the cheapest hops are slow now ({slow}), so trust no absolute latency until `hopmeter doctor` "
            "reports better floors."
        )
    if tails:
        said.append(
            "Trust the order of medians within one run of eight rounds or more, in which disturbances cancel out; do "
            f"not trust p99 and above, which show this machine rather than the transports ({tails})."
        )
    elif not first and not slow:
        said.append("Trust medians and tails, within one run and between runs on this machine.")
    if waking:
        said.append(
            f"Latencies at low rates include the wake-up of idle cores ({waking}), so they apply to programs that idle "
            "between messages on this machine. For the order of transports, measure with --no-idle-states."
        )
    return " ".join(said)


def _subjects(findings: Iterable[Finding], codes: set[str]) -> str:
    hurting = [each["subject"] for each in findings if each["level"] == "hurts" and each["code"] in codes]
    return ", ".join(dict.fromkeys(hurting))
