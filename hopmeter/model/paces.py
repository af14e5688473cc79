"""The ways in which a source paces its messages. The instrument's `PaceKind` and `Pacer` divide them alike."""

from __future__ import annotations

from typing import Literal, get_args

ScheduledPace = Literal["open", "poisson", "burst"]
UnscheduledPace = Literal["closed", "max"]
PaceKind = Literal[ScheduledPace, UnscheduledPace]

SCHEDULED: tuple[str, ...] = get_args(ScheduledPace)
"""Paces with a rate; every message has a time when it is due."""
UNSCHEDULED: tuple[str, ...] = get_args(UnscheduledPace)
"""Paces without a rate; they send as soon as they can."""
MOST_UNSCHEDULED_MESSAGES = 2_000_000
"""A trial with a duration and no rate ends after so many messages at the latest."""
