"""Fit effects of cells and rounds by weighted least squares, for many tables at once.

All arrays have the axes table, cell and round. A trial's weight is the inverse of its variance, or 0 if the trial is
missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopmeter.statistics.observations import Floats

RIDGE = 1e-6
"""How strongly the effects of rounds are shrunk to zero: just enough to compare cells that have no common round."""


@dataclass(frozen=True)
class TwoWay:
    """The fitted effects of cells and rounds, the covariance of the cells' effects, and the leverage of each trial."""

    cells: Floats
    rounds: Floats
    covariance: Floats
    leverage: Floats

    @property
    def expectation(self) -> Floats:
        """Return the fitted value for each trial."""
        return self.cells[:, :, None] + self.rounds[:, None, :]


def fit_two_way(values: Floats, weights: Floats) -> TwoWay:
    """Estimate the effects of cells and rounds from weighted trials. A noisy cell has low weights, and therefore
    affects the effect of a round only slightly."""
    totals = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300) * (1 + RIDGE)
    shares = weights / totals
    weighted = weights * values
    laplacian = -weights @ shares.swapaxes(1, 2)
    diagonal = np.arange(values.shape[1])
    laplacian[:, diagonal, diagonal] += weights.sum(axis=2)
    covariance = np.linalg.inv(laplacian)
    sums = weighted.sum(axis=1, keepdims=True)
    right = weighted.sum(axis=2) - (shares * sums).sum(axis=2)
    cells = (covariance @ right[:, :, None])[:, :, 0]
    rounds = (sums[:, 0] - (weights * cells[:, :, None]).sum(axis=1)) / totals[:, 0]
    return TwoWay(cells, rounds, covariance, _leverage(weights, shares, totals, covariance))


def _leverage(weights: Floats, shares: Floats, totals: Floats, covariance: Floats) -> Floats:
    mixed = covariance @ shares
    own = np.diagonal(covariance, axis1=1, axis2=2)[:, :, None]
    variance = own - 2 * mixed + (shares * mixed).sum(axis=1, keepdims=True) + 1 / totals
    leverage: Floats = np.clip(weights * variance, 0.0, 1.0)
    return leverage
