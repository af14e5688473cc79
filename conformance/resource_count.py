"""Detect resource leaks: a resource whose count grows with every opened link end is a leak."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from conformance.scripted_node import ScriptedNode

LOOKS, PAUSE_S = 10, 0.05
"""The number of counts, and the pause between counts in seconds, because library threads need time to exit."""
OPENINGS = 5
"""How often to open a link end. Libraries may cache a few descriptors and threads, but not one for each opening."""
Resources = dict[str, int]


def assert_no_growth(nodes: Sequence[ScriptedNode], once: Callable[[], None]) -> None:
    """Call `once`, which opens and closes a link end, repeatedly. Fail the test if a node's resource counts grow."""
    for _ in range(3):
        once()
    *_, before = _minimum_counts(nodes)
    for _ in range(OPENINGS):
        once()
    after = before
    for after in _minimum_counts(nodes):
        if not _growth(before, after):  # the minimum can only fall over time
            return
    raise AssertionError(f"more resources after {OPENINGS} openings: {_growth(before, after)}")


def _minimum_counts(nodes: Sequence[ScriptedNode]) -> Iterator[list[Resources]]:
    """Yield the smallest counts so far, LOOKS times."""
    smallest = [dict(node.execute(do="census")) for node in nodes]
    yield smallest
    for _ in range(LOOKS - 1):
        time.sleep(PAUSE_S)
        for known, node in zip(smallest, nodes, strict=True):
            now = node.execute(do="census")
            known.update({key: min(known[key], now[key]) for key in known})
        yield smallest


def _growth(before: Sequence[Resources], after: Sequence[Resources]) -> list[tuple[Resources, Resources]]:
    """Return the resource counts before and after, for each process that uses at least one more resource after each
    opening."""
    pairs = zip(before, after, strict=True)
    return [(was, now) for was, now in pairs if any(now[key] - was[key] >= OPENINGS for key in was)]
