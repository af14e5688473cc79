"""Each cell's own value, with an interval that includes how much the rounds differ. For many tables at once."""

from __future__ import annotations

import numpy as np

from hopmeter.statistics.noise_model import NoiseModel
from hopmeter.statistics.observations import Floats
from hopmeter.statistics.pair_tests import LEAST_ROUNDS


def level_intervals(model: NoiseModel, alpha: float) -> tuple[Floats, Floats]:
    """Return the cells' levels and the half-widths of their intervals; NaN with fewer than three rounds.

    The width comes from the cell's own trials, with outliers drawn in; trials that lost time to steal weigh less.
    """
    levels = model.effects.cells
    enough = model.known.sum(axis=2) >= LEAST_ROUNDS
    if not enough.any():
        return levels, np.full(levels.shape, np.nan)
    from scipy.special import stdtrit  # slow to load, and short runs do without

    weights = model.known / model.inflation
    totals = weights.sum(axis=2)
    squares = (weights * (model.values - levels[:, :, None]) ** 2).sum(axis=2) / totals
    effective = totals**2 / (weights**2).sum(axis=2)
    errors = np.sqrt(squares * effective / np.maximum(effective - 1, 0.5) / effective)
    half = -stdtrit(np.maximum(effective - 1, 1), alpha / 2) * errors
    return levels, np.where(enough, half, np.nan)
