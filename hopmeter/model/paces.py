"""The ways in which a source paces its messages, and their properties; the instrument's `PaceKind` has the same.

To add a pace, add a line to `PACES`, a variant to `PaceKind` (instrument/src/spec.rs) and its arm in
instrument/src/pacer.rs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

PaceName = Literal["open", "poisson", "burst", "closed", "max"]
MOST_UNSCHEDULED_MESSAGES = 2_000_000
"""The most messages of a trial with a duration and no rate."""


@dataclass(frozen=True)
class Pace:
    """The properties of a pace."""

    meaning: str
    is_scheduled: bool = True
    """Whether it has a rate, which gives every message a due time; without one it sends as soon as it can."""
    has_bursts: bool = False
    """Whether several messages fall due at once."""
    awaits_return: bool = False
    """Whether each message waits until the one before has returned; in pubsub that needs a ring with relays."""
    latency: str = "response"
    """The latency that its cells are ranked by."""
    phrase: str = "at {rate} ({name})"
    """The name in the report."""

    def describe(self, name: str, rate: str) -> str:
        """Describe the pace at one rate, as a phrase."""
        return self.phrase.format(name=name, rate=rate)


PACES: dict[PaceName, Pace] = {
    "open": Pace("a message each period", phrase="at {rate}"),
    "poisson": Pace("gaps at random, with the rate as their mean"),
    "burst": Pace("several messages at once, at the rate on average", has_bursts=True),
    "closed": Pace(
        "the next message when the one before has come back",
        is_scheduled=False,
        awaits_return=True,
        latency="roundtrip",
        phrase="one at a time",
    ),
    "max": Pace("the next message at once", is_scheduled=False, latency="service", phrase="at the highest rate"),
}
NAMES: tuple[PaceName, ...] = get_args(PaceName)
