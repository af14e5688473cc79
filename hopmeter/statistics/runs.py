"""Estimate the variance between runs: how much a cell's level varies from run to run (Kalibera and Jones 2013).

A few runs may agree by chance, so the estimated variance is at least the variance that the trials within the runs
imply.

The variance between runs has two parts. One part is common to all cells of a run and results from drift of the machine.
The other part is specific to each cell. The number of runs limits the degrees of freedom of the common part. The
estimate of the cell-specific part is shrunk towards a value common to all cells (moderation.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopmeter.statistics.moderation import LEAST_CELLS, moderate
from hopmeter.statistics.observations import Floats

LEAST_COMMON = 0.5
"""The minimum ratio of the common part of the variance to a cell's own part. This minimum matters if a few runs agree
by chance."""


@dataclass(frozen=True)
class RunDifferences:
    """For each cell, the level in the new runs minus the level in the old runs, with standard errors and degrees of
    freedom."""

    differences: Floats
    errors: Floats
    freedoms: Floats


def compare_runs(old: Floats, new: Floats, within: Floats | None = None) -> RunDifferences:
    """Compare the cells' levels in old runs with their levels in new runs. The arrays have the axes run and cell, and
    contain logarithms of levels.

    `within` contains the variance of each run's level, which is estimated from the trials of the run. In `within`, the
    old runs precede the new runs. Both sides together need at least three runs, so that the variance between runs can
    be estimated.
    """
    residuals = np.vstack([old - old.mean(axis=0), new - new.mean(axis=0)])
    freedom = len(old) + len(new) - 2
    variances, freedoms = (_separate if old.shape[1] >= LEAST_CELLS else _alone)(residuals, freedom)
    least = np.zeros(old.shape[1]) if within is None else np.nanmean(within, axis=0)
    errors = np.sqrt(np.maximum(variances, np.maximum(least, 1e-18)) * (1 / len(old) + 1 / len(new)))
    return RunDifferences(new.mean(axis=0) - old.mean(axis=0), errors, freedoms)


def _alone(residuals: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Return the variance of each cell without separating its two parts, for which a few cells are not enough."""
    return (residuals**2).sum(axis=0) / freedom, np.full(residuals.shape[1], float(freedom))


def _separate(residuals: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Return the sum of the common and the cell-specific variance between runs, with degrees of freedom by
    Satterthwaite's approximation."""
    cells = residuals.shape[1]
    together = residuals.mean(axis=1, keepdims=True)
    alone = freedom * (1 - 1 / cells)
    squares = ((residuals - together) ** 2).sum(axis=0) / alone
    own, own_freedom = moderate(np.maximum(squares, 1e-18)[None], np.full((1, cells), alone))
    part = (1 - 1 / cells) * own[0]
    common = np.maximum((together**2).sum() / freedom, LEAST_COMMON * part)
    variances = common + part
    return variances, variances**2 / (common**2 / freedom + part**2 / own_freedom[0])
