"""What processes hold: a leak is what grows with every opening."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from conformance.puppet import Puppet

LOOKS, PAUSE_S = 10, 0.05
"""How often is looked, and how long between: threads of libraries take a moment to end."""
OPENINGS = 5
"""Libraries keep a few descriptors and threads for reuse; one for each opening is too many."""
Census = dict[str, int]


def grows_not(puppets: Sequence[Puppet], once: Callable[[], None]) -> None:
    """Opens and closes again and again, and counts."""
    for _ in range(3):
        once()
    *_, before = _smallest(puppets)
    for _ in range(OPENINGS):
        once()
    after = before
    for after in _smallest(puppets):
        if not _grown(before, after):  # later looks could only find less
            return
    raise AssertionError(f"more is held after {OPENINGS} openings: {_grown(before, after)}")


def _smallest(puppets: Sequence[Puppet]) -> Iterator[list[Census]]:
    """The smallest censuses so far, again and again."""
    smallest = [dict(puppet.tell(do="census")) for puppet in puppets]
    yield smallest
    for _ in range(LOOKS - 1):
        time.sleep(PAUSE_S)
        for known, puppet in zip(smallest, puppets, strict=True):
            now = puppet.tell(do="census")
            known.update({key: min(known[key], now[key]) for key in known})
        yield smallest


def _grown(before: Sequence[Census], after: Sequence[Census]) -> list[tuple[Census, Census]]:
    """Of each process that holds more, what it held and what it holds."""
    pairs = zip(before, after, strict=True)
    return [(was, now) for was, now in pairs if any(now[key] - was[key] >= OPENINGS for key in was)]
