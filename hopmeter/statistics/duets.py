"""Compare the two cells of a duet. A duet measures both cells in alternating turns, so that neighbouring turns are
exposed to the same noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Medians = Sequence[float | None]


def pair_turns(first: Medians, second: Medians) -> tuple[float, float] | None:
    """Return one value per cell, computed from the medians of the cell's turns, or None if no pair of turns has two
    positive medians.

    The ratio of the two values is the median ratio of neighbouring turns. A disturbed turn affects the median ratio of
    neighbouring turns less than the ratio of the cells' medians.
    """
    both = [(one, other) for one, other in zip(first, second, strict=False) if (one or 0) > 0 and (other or 0) > 0]
    if not both:
        return None
    logs = np.log(np.array(both))
    middle, half = np.median(logs.mean(axis=1)), np.median(logs[:, 1] - logs[:, 0]) / 2
    return float(np.exp(middle - half)), float(np.exp(middle + half))
