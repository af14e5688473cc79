"""Define the paces at which a source may send, and their properties. The instrument's Rust type `PaceKind` defines the
same paces a second time.

To add a pace, add a line to `PACES`, a variant to `PaceKind` (instrument/src/spec/choices.rs) and a match arm in
instrument/src/pacer.rs. The parameter of a pace must be declared as a condition in conditions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

PaceChoice = Literal["open", "poisson", "burst", "ramp", "closed", "max"]
"""The paces that a scenario may name. Flows that replay a recording have the additional pace `replay`."""
PaceName = Literal["open", "poisson", "burst", "ramp", "closed", "max", "replay"]
MOST_UNSCHEDULED_MESSAGES = 2_000_000
"""The maximum number of messages in a trial that has a duration but no rate."""


@dataclass(frozen=True)
class Rates:
    """The messages per second at the beginning and at the end of a trial. Between the beginning and the end of the
    trial, the rate changes linearly."""

    first_hz: float
    last_hz: float

    @property
    def mean_hz(self) -> float:
        """Return the mean rate of the trial."""
        return (self.first_hz + self.last_hz) / 2

    @property
    def is_steady(self) -> bool:
        """Return whether the rate is constant throughout the trial."""
        return self.first_hz == self.last_hz

    @property
    def slowest_hz(self) -> float:
        """Return the lowest rate of the trial."""
        return min(self.first_hz, self.last_hz)


def _steady(rate_hz: float, _: Any) -> Rates:
    return Rates(rate_hz, rate_hz)


@dataclass(frozen=True)
class PaceKind:
    """The properties of a pace."""

    meaning: str
    is_scheduled: bool = True
    """Whether the pace has a rate, which gives every message a due time. If a pace has no rate, the source sends each
    message as soon as it can."""
    parameter: str = ""
    """The key of the condition that only this pace uses, or an empty string if there is none."""
    needs_parameter: bool = False
    """Whether the pace requires its parameter. With any other pace, giving this parameter is an error."""
    rates: Callable[[float, Any], Rates] = _steady
    """A function that returns the rates of a trial from the rate and the parameter."""
    awaits_return: bool = False
    """Whether each message waits until the previous message has returned. In the pubsub pattern, messages can return
    only through a ring with relays."""
    latency: str = "response"
    """The latency that ranks cells with this pace."""
    phrase: str = "at {rate} ({name})"
    """The format of the pace's description in the report. `{name}` is the pace's name, and every other placeholder is
    the key of a rate."""
    question: str = ""
    """The phrase for the pace in the question of a run."""

    def describe(self, name: str, rates: Mapping[str, str]) -> str:
        """Return the words that describe the pace. `rates` contains the rates as formatted text, keyed by the names
        that scenarios give the rates."""
        return self.phrase.format(name=name, **rates)


PACES: dict[PaceName, PaceKind] = {
    "open": PaceKind("one message per period", phrase="at {rate}", question="at even intervals"),
    "poisson": PaceKind("random gaps that average to the rate", question="at random intervals"),
    "burst": PaceKind("several messages at once, on average at the rate", parameter="burst", question="in bursts"),
    "ramp": PaceKind(
        "a rate that changes linearly over the trial, from the rate to `ramp_to`",
        parameter="ramp_to",
        needs_parameter=True,
        rates=Rates,
        phrase="from {rate} to {ramp_to}",
        question="at a changing rate",
    ),
    "closed": PaceKind(
        "the next message when the previous message has come back",
        is_scheduled=False,
        awaits_return=True,
        latency="roundtrip",
        phrase="one at a time",
        question="one at a time",
    ),
    "max": PaceKind(
        "the next message immediately",
        is_scheduled=False,
        latency="service",
        phrase="at the highest rate",
        question="as fast as possible",
    ),
    "replay": PaceKind("the times of a recording", phrase="as recorded, {rate} on average"),
}
NAMES: tuple[PaceName, ...] = get_args(PaceName)
CHOICES: tuple[PaceChoice, ...] = get_args(PaceChoice)
SCHEDULED = tuple(name for name in CHOICES if PACES[name].is_scheduled)
"""The paces with a rate that a scenario may name."""
