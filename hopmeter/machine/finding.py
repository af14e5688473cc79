"""What the doctor says of one thing."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Level = Literal["good", "note", "hurts", "unknown"]
Machine = dict[str, Any]


class Finding(TypedDict):
    """One line of `hopmeter doctor`; plain data, so that run.json can keep it."""

    subject: str
    level: Level
    says: str
    remedy: str


def finding(subject: str, level: Level, says: str, remedy: str = "") -> Finding:
    """A finding; a good one needs no remedy."""
    return Finding(subject=subject, level=level, says=says, remedy=remedy)
