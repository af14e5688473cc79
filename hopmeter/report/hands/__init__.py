"""What each command that measures by hand leaves, as parts of a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hopmeter.report.byhand import ByHand, side
from hopmeter.report.hands import objects, servers

READERS = {"listener": objects.read, "publisher": objects.read, "asker": servers.read}


def read(folder: Path, number: int) -> ByHand:
    """The folder of one participant. Raises StoreError where its log is damaged, and UsageError where it is empty."""
    return READERS[side(folder)](folder, number)


def question(parts: Sequence[ByHand]) -> str:
    """What the page answers."""
    sides = {side(part.run.folder) for part in parts}
    if "asker" not in sides:
        return "What does an object cost, measured by hand?"
    return "What do servers cost, measured by hand?" if sides == {"asker"} else "What was measured by hand?"
