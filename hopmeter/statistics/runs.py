"""The variance between runs: how far the level of a cell moves from one run to another (Kalibera and Jones 2013).

Runs may look alike by chance, so no variance is smaller than the trials within the runs say.

All cells of a run move together, because the machine drifts, and each moves alone. The first part has only as many
degrees of freedom as there are runs; cells with many neighbours share what they know about the second part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopmeter.statistics.moderation import LEAST_CELLS, moderate
from hopmeter.statistics.observations import Floats

LEAST_COMMON = 0.5
"""The common part counts at least as this share of a cell's own part: few runs may look alike by chance."""


@dataclass(frozen=True)
class RunDifferences:
    """New minus old level of each cell, with standard errors and degrees of freedom."""

    differences: Floats
    errors: Floats
    freedoms: Floats


def compare_runs(old: Floats, new: Floats, within: Floats | None = None) -> RunDifferences:
    """Compare the runs of two sides; the axes are run and cell, the values logarithms.

    `within` is the variance of each run's level, of the old runs and then the new ones, as its own trials say. The two
    sides together need at least three runs, so that there is a variance between runs of one side.
    """
    residuals = np.vstack([old - old.mean(axis=0), new - new.mean(axis=0)])
    freedom = len(old) + len(new) - 2
    variances, freedoms = (_separate if old.shape[1] >= LEAST_CELLS else _alone)(residuals, freedom)
    least = np.zeros(old.shape[1]) if within is None else np.nanmean(within, axis=0)
    errors = np.sqrt(np.maximum(variances, np.maximum(least, 1e-18)) * (1 / len(old) + 1 / len(new)))
    return RunDifferences(new.mean(axis=0) - old.mean(axis=0), errors, freedoms)


def _alone(residuals: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Return the variance of each cell alone: few cells cannot tell the two parts apart."""
    return (residuals**2).sum(axis=0) / freedom, np.full(residuals.shape[1], float(freedom))


def _separate(residuals: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Return the sum of both parts, with degrees of freedom after Satterthwaite."""
    cells = residuals.shape[1]
    together = residuals.mean(axis=1, keepdims=True)
    alone = freedom * (1 - 1 / cells)
    squares = ((residuals - together) ** 2).sum(axis=0) / alone
    own, own_freedom = moderate(np.maximum(squares, 1e-18)[None], np.full((1, cells), alone))
    part = (1 - 1 / cells) * own[0]
    common = np.maximum((together**2).sum() / freedom, LEAST_COMMON * part)
    variances = common + part
    return variances, variances**2 / (common**2 / freedom + part**2 / own_freedom[0])
