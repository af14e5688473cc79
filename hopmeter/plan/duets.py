"""Choose those cells of a plan that are measured as duets. In a duet, both sides run at once, and their messages are
due in alternating turns."""

from __future__ import annotations

from hopmeter.manifest import Manifest
from hopmeter.model.cell import Cell

TURN_S = 0.02
"""The length of a turn in seconds. Most disturbances on a shared machine last longer than two turns."""
SIDES = 2
LONGEST_SPIN_US = 1000
"""A source that spins longer than this before each due time would also spin during the other side's turn."""
LEAST_MESSAGES = 10
"""The minimum number of messages in a turn."""


def turn_s(cell: Cell, manifest: Manifest) -> float | None:
    """Return the length of a turn in seconds, or None if the cell cannot be measured as a duet.

    A duet requires nodes that are idle during the other side's turn: no spinning threads, no broker and no work.
    """
    has_broker = manifest.for_settings(cell.carriage.settings).broker is not None
    if not cell.comparison.side or has_broker or not _is_idle_between_messages(cell):
        return None
    return TURN_S if (cell.axes.rate_hz or 0.0) * TURN_S >= LEAST_MESSAGES else None


def _is_idle_between_messages(cell: Cell) -> bool:
    spins = "spin" in cell.axes.waits or (cell.nodes.spin_us or 0) > LONGEST_SPIN_US
    is_steady = cell.workload is None and cell.axes.pace == "open" and not cell.axes.measures_moments
    return is_steady and not spins and cell.axes.work == "none"
