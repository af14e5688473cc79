"""A finding of the doctor."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hopmeter.machine.kernel import UNKNOWN

Level = Literal["good", "note", "hurts", "unknown"]
Machine = dict[str, Any]


class Finding(TypedDict):
    """One line of `hopmeter doctor`, as plain data that run.json can store."""

    code: str
    """The code in docs/messages.md; findings that earlier versions stored have no code."""
    subject: str
    level: Level
    says: str
    remedy: str


def finding(code: str, subject: str, level: Level, says: str, remedy: str = "") -> Finding:
    """Return a finding; a finding of the level `good` needs no remedy."""
    return Finding(code=code, subject=subject, level=level, says=says, remedy=remedy)


def plain(code: str, subject: str, value: str) -> Finding:
    """Return a finding on a value that is good whatever it is, and unknown if the kernel does not report it."""
    if value == UNKNOWN:
        return finding(code, subject, "unknown", "the kernel does not report this value")
    return finding(code, subject, "good", value)


def is_arm(machine: Machine) -> bool:
    """Return whether the machine has a 64-bit Arm processor."""
    return machine.get("architecture") == "aarch64"
