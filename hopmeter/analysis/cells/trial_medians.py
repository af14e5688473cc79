"""The median of each trial, as soon as the trial is over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopmeter.analysis.cells.cell import examine
from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.percentiles import estimate
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder

Value = Callable[[Cell, TrialResult], float | None]
"""Returns a trial's median of the latency that ranks its cell; None if it has none."""


def median_us(folder: RunFolder) -> Value:
    """Return the function that gives a trial's median; any number of messages suffices."""

    def value(cell: Cell, result: TrialResult) -> float | None:
        measured = examine(cell, result, folder).measured
        pieces = measured.latencies.get(headline(cell), []) if measured else []
        if measured is None or not any(map(len, pieces)):
            return None
        (found,) = estimate(np.concatenate(pieces), (0.5,), measured.missing[headline(cell)], reorder=True)
        return found and found / 1000

    return value
