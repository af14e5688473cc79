"""The clocks of two machines: whether they are one, and how far apart they are where they are not.

CLOCK_MONOTONIC is shared by what runs under one kernel, unless somebody has a time namespace of his own. Elsewhere
the other end is asked for its time over the connection that both commands have, many times, before messages go and
after. Of each such look the question with the least round trip counts: the answer was given somewhere within it, so
that its middle is wrong by half of it at most, however unlike the two ways are. Between the two looks one clock is
taken to gain on the other evenly.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.byhand.moments import COLUMNS, NULL
from hopmeter.byhand.wire import Said, Wire
from hopmeter.runtime.signals import Alarm

QUESTIONS = 100
PATIENCE_S = 10.0
"""For all questions of a look; the other end may be starting a process meanwhile."""
THEIRS = ("intended_ns", "sent_ns")
"""What a listener has by the publisher's clock."""


def identity() -> str:
    """Names the clock of this process; empty where that is not known, and then no other one is the same."""
    with suppress(OSError):
        space = Path("/proc/self/ns/time")
        own = str(space.readlink()) if space.is_symlink() else ""
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {own}"
    return ""


def answering(wire: Wire) -> None:
    """Has the other end told the time here whenever it asks."""
    wire.aside["time?"] = lambda said: wire.say(say="time", asked_ns=said.get("asked_ns"), ns=time.monotonic_ns())


@dataclass(frozen=True)
class Look:
    """One look at the other clock."""

    at_ns: int
    """By this clock."""
    ahead_ns: int
    """How far the other one is ahead."""
    round_trip_ns: int


class Clocks:
    """The other machine's clock beside this one's while something is measured."""

    def __init__(self, wire: Wire, alarm: Alarm) -> None:
        self._wire, self._alarm = wire, alarm
        self._answer: Said = {}
        self._looks: list[Look] = []

    def look(self) -> None:
        """Looks once. Where no answer comes, nothing is known."""
        self._wire.aside["time"] = self._hear
        deadline = time.monotonic() + PATIENCE_S
        found = [look for _ in range(QUESTIONS) if (look := self._ask(deadline)) is not None]
        if found:
            self._looks.append(min(found, key=lambda look: look.round_trip_ns))

    def _hear(self, said: Said) -> None:
        self._answer = said

    def _ask(self, deadline: float) -> Look | None:
        asked_ns = time.monotonic_ns()
        self._wire.say(say="time?", asked_ns=asked_ns)
        while (theirs_ns := self._answered(asked_ns)) is None:
            if self._wire.hung_up or (left := deadline - time.monotonic()) <= 0:
                return None
            self._wire.look(left, self._alarm)
        came_ns = time.monotonic_ns()
        middle_ns = (asked_ns + came_ns) // 2
        return Look(middle_ns, theirs_ns - middle_ns, came_ns - asked_ns)

    def _answered(self, asked_ns: int) -> int | None:
        """The other end's time, once it has answered this question."""
        theirs_ns = self._answer.get("ns")
        return theirs_ns if self._answer.get("asked_ns") == asked_ns and isinstance(theirs_ns, int) else None

    def settle(self, rows: Any) -> str:
        """Sets the publisher's times in rows of moments.COLUMNS right, in place, and says how true they are; takes
        them out where they would tell less than the clocks are uncertain by."""
        columns = [COLUMNS.index(name) for name in THEIRS]
        if len(self._looks) < 2:
            rows[:, columns] = NULL
            return "two machines, whose clocks could not be compared: delays are not known"
        first, last = self._looks[0], self._looks[-1]
        for column in columns:
            there = rows[:, column] != NULL
            rows[there, column] -= _ahead(first, last, rows[there, column])
        return self._judged(rows, columns, max(first.round_trip_ns, last.round_trip_ns))

    def _judged(self, rows: Any, columns: list[int], round_trip_ns: int) -> str:
        uncertain_ns = (round_trip_ns + 1) // 2
        delays = _delays(rows)
        if not len(delays) or np.median(delays) > uncertain_ns:
            return f"two machines: delays are true to \N{PLUS-MINUS SIGN}{_us(uncertain_ns)}"
        rows[:, columns] = NULL
        told = f"their clocks are known to \N{PLUS-MINUS SIGN}{_us(uncertain_ns)} only, which is more than the delay"
        return f"two machines: {told}; the least round trip took {_us(round_trip_ns)}"


def _ahead(first: Look, last: Look, theirs_ns: Any) -> Any:
    """How far the other clock was ahead at moments of its own."""
    begun, lasted = first.at_ns + first.ahead_ns, last.at_ns + last.ahead_ns - first.at_ns - first.ahead_ns
    gained = (last.ahead_ns - first.ahead_ns) / lasted if lasted > 0 else 0.0
    return first.ahead_ns + np.round((theirs_ns - begun) * gained).astype(np.int64)


def _delays(rows: Any) -> Any:
    """From sending to the end of decoding, of the messages that had both."""
    begins, ends = rows[:, COLUMNS.index("sent_ns")], rows[:, COLUMNS.index("decoded_ns")]
    both = (begins != NULL) & (ends != NULL)
    return (ends - begins)[both]


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:.0f} us"
