"""Defines the findings of `hopmeter doctor`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hopmeter.machine.kernel import UNKNOWN

Level = Literal["good", "note", "hurts", "unknown"]
Machine = dict[str, Any]


class Finding(TypedDict):
    """One line of `hopmeter doctor`, in the form of plain data, which run.json can store."""

    code: str
    """The code in docs/messages.md. Findings that earlier versions of hopmeter stored have no code."""
    subject: str
    level: Level
    says: str
    remedy: str


def finding(code: str, subject: str, level: Level, says: str, remedy: str = "") -> Finding:
    """Return a finding. A finding at the level `good` needs no `remedy`."""
    return Finding(code=code, subject=subject, level=level, says=says, remedy=remedy)


def plain(code: str, subject: str, value: str) -> Finding:
    """Return a finding that only states a value, at the level `good`, or at the level `unknown` if the kernel does not
    report the value."""
    if value == UNKNOWN:
        return finding(code, subject, "unknown", "the kernel does not report this value")
    return finding(code, subject, "good", value)


def is_arm(machine: Machine) -> bool:
    """Return whether the machine has a 64-bit Arm processor."""
    return machine.get("architecture") == "aarch64"
