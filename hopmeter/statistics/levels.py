"""Compute the level of each cell for many tables at once, with intervals that include the spread between rounds."""

from __future__ import annotations

import numpy as np

from hopmeter.statistics.noise_model import NoiseModel
from hopmeter.statistics.observations import Floats
from hopmeter.statistics.pair_tests import LEAST_ROUNDS


def level_intervals(model: NoiseModel, alpha: float) -> tuple[Floats, Floats]:
    """Return the level of each cell and the half-width of the level's interval. The half-width is NaN if there are
    fewer than three rounds.

    The half-width is computed from the cell's own trials, after outliers are clipped. Trials during which the
    hypervisor stole CPU time have less weight.
    """
    levels = model.effects.cells
    enough = model.known.sum(axis=2) >= LEAST_ROUNDS
    if not enough.any():
        return levels, np.full(levels.shape, np.nan)
    from scipy.special import stdtrit  # SciPy is slow to import, and short runs do not need it

    weights = model.known / model.inflation
    totals = weights.sum(axis=2)
    squares = (weights * (model.values - levels[:, :, None]) ** 2).sum(axis=2) / totals
    effective = totals**2 / (weights**2).sum(axis=2)
    errors = np.sqrt(squares * effective / np.maximum(effective - 1, 0.5) / effective)
    half = -stdtrit(np.maximum(effective - 1, 1), alpha / 2) * errors
    return levels, np.where(enough, half, np.nan)
