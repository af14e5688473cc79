"""The ways in which a source paces its messages, and their properties; the instrument's `PaceKind` has the same paces.

To add a pace, add a line to `PACES`, a variant to `PaceKind` (instrument/src/spec/choices.rs) and a match arm in
instrument/src/pacer.rs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

PaceChoice = Literal["open", "poisson", "burst", "closed", "max"]
"""The paces that a scenario may name; a flow with `replay` has the pace of that name."""
PaceName = Literal["open", "poisson", "burst", "closed", "max", "replay"]
MOST_UNSCHEDULED_MESSAGES = 2_000_000
"""The maximum number of messages of a trial that has a duration and no rate."""


@dataclass(frozen=True)
class Pace:
    """The properties of a pace."""

    meaning: str
    is_scheduled: bool = True
    """Whether the pace has a rate, which gives every message a due time; without a rate, the source sends as soon as it
    can."""
    has_bursts: bool = False
    """Whether several messages fall due at once."""
    awaits_return: bool = False
    """Whether each message waits until the previous message has returned; in pubsub that needs a ring with relays."""
    latency: str = "response"
    """The latency by which cells with this pace are ranked."""
    phrase: str = "at {rate} ({name})"
    """The name of the pace in the report."""

    def describe(self, name: str, rate: str) -> str:
        """Describe the pace at one rate, as a phrase."""
        return self.phrase.format(name=name, rate=rate)


PACES: dict[PaceName, Pace] = {
    "open": Pace("one message per period", phrase="at {rate}"),
    "poisson": Pace("random gaps that average to the rate"),
    "burst": Pace("several messages at once, on average at the rate", has_bursts=True),
    "closed": Pace(
        "the next message when the previous message has come back",
        is_scheduled=False,
        awaits_return=True,
        latency="roundtrip",
        phrase="one at a time",
    ),
    "max": Pace("the next message immediately", is_scheduled=False, latency="service", phrase="at the highest rate"),
    "replay": Pace("the times of a recording", phrase="as recorded, {rate} on average"),
}
NAMES: tuple[PaceName, ...] = get_args(PaceName)
CHOICES: tuple[PaceChoice, ...] = get_args(PaceChoice)
