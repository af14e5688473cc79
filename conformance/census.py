"""What processes hold: a leak is what grows with every opening."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from conformance.puppet import Puppet


def grows_not(puppets: Sequence[Puppet], once: Callable[[], None]) -> None:
    """Opens and closes again and again, and counts. Libraries keep a few descriptors and threads for reuse."""
    for _ in range(3):
        once()
    before = [_settled(puppet) for puppet in puppets]
    for _ in range(5):
        once()
    after = [_settled(puppet) for puppet in puppets]
    for was, now in zip(before, after, strict=True):
        assert now["descriptors"] - was["descriptors"] < 5, (was, now)
        assert now["threads"] - was["threads"] < 5, (was, now)


def _settled(puppet: Puppet) -> dict[str, int]:
    """The smallest census within a second: threads of libraries take a moment to end."""
    counts = []
    for _ in range(10):
        counts.append(puppet.tell(do="census"))
        time.sleep(0.05)
    return {key: min(count[key] for count in counts) for key in counts[0]}
