"""Test all pairs of cells with a step-down procedure. Each significant pair relaxes the significance level for the
remaining pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopmeter.statistics.families import Places
from hopmeter.statistics.moderation import LEAST_CELLS
from hopmeter.statistics.noise_model import FLOOR, NoiseModel, fit_noise
from hopmeter.statistics.observations import Floats

LEAST_ROUNDS = 3
"""The difference of a pair with fewer common rounds never counts as significant."""


@dataclass(frozen=True)
class PairTests:
    """The differences of pairs (first cell minus second cell), with standard errors and degrees of freedom, as arrays
    with the axes table and pair."""

    first: Places
    second: Places
    differences: Floats
    errors: Floats
    freedoms: Floats
    common: Floats

    def p_values(self) -> Floats:
        """Return the two-sided p-value of each pair, or 1 if the pair has too few rounds with trials of both cells."""
        enough = self.common >= LEAST_ROUNDS
        if not enough.any():
            return np.ones(enough.shape)
        from scipy.special import stdtr  # SciPy is slow to import, and short runs do not need it

        found = 2 * stdtr(self.freedoms, -np.abs(self.differences) / self.errors)
        return np.where(enough, found, 1.0)


def compare_cells(model: NoiseModel, steal: Floats, values: Floats) -> PairTests:
    """Compare all pairs of cells. In a small table, each pair is fitted separately, because a few cells are not enough
    to model each cell's variance."""
    first, second = np.triu_indices(values.shape[1], 1)
    known = model.known.astype(float)
    common = np.einsum("bpr,bpr->bp", known[:, first], known[:, second])
    alone = 2 < values.shape[1] < LEAST_CELLS
    found = _compare_alone(model, steal, values, first, second) if alone else _compare_by_model(model, first, second)
    return PairTests(first, second, *found, common)


def _compare_alone(
    model: NoiseModel, steal: Floats, values: Floats, first: Places, second: Places
) -> tuple[Floats, Floats, Floats]:
    """Fit each pair as a table of two cells, with a steal weight that is estimated from all cells."""
    tables, pairs, rounds = len(values), len(first), values.shape[2]
    both, shape = np.stack([first, second], axis=1), (tables * pairs, 2, rounds)
    known = model.known[:, both].reshape(shape)
    weight = np.repeat(model.steal_weight, pairs)
    fitted = fit_noise(values[:, both].reshape(shape), steal[:, both].reshape(shape), known, weight)
    one = np.zeros(1, np.intp)
    differences, errors, freedoms = (each.reshape(tables, pairs) for each in _compare_by_model(fitted, one, one + 1))
    return differences, errors, freedoms


def _compare_by_model(model: NoiseModel, first: Places, second: Places) -> tuple[Floats, Floats, Floats]:
    """Return the differences, with standard errors and with degrees of freedom by Satterthwaite's approximation."""
    cells, covariance = model.effects.cells, model.effects.covariance
    own = np.diagonal(covariance, axis1=1, axis2=2)
    squares = own[:, first] + own[:, second] - 2 * covariance[:, first, second]
    parts = model.variances / np.maximum((model.known / model.inflation).sum(axis=2), 1e-9)
    one, other = parts[:, first], parts[:, second]
    freedoms = (one + other) ** 2 / (one**2 / model.freedoms[:, first] + other**2 / model.freedoms[:, second])
    errors = np.sqrt(np.maximum(squares, FLOOR)) * _allowance(model, first, second)
    return cells[:, first] - cells[:, second], errors, np.maximum(freedoms, 1.0)


def _allowance(model: NoiseModel, first: Places, second: Places) -> Floats | float:
    """Return the factor that enlarges standard errors, because the variances and weights are only estimates.

    Simulations determined the formula of this factor and the coefficients. Without the factor, up to 9 % of the
    decisions in simulated tables of 3 to 5 rounds are false.
    """
    if model.variances.shape[1] < LEAST_CELLS:
        return 1.0
    least = np.maximum(np.minimum(model.own_freedoms[:, first], model.own_freedoms[:, second]), 1.0)
    allowance: Floats = 1 + 1 / (model.variances.shape[1] * least) + 2.5 / least**3
    return allowance


def step_down(p_values: Floats, divisors: tuple[int, ...], alpha: float) -> tuple[NDArray[np.bool_], Floats]:
    """Return which pairs differ significantly, and the significance level at which each pair was tested. The last axis
    of each array is the pair.

    The first pair without a significant difference ends the procedure: all further pairs use the significance level of
    this pair.
    """
    order = np.argsort(p_values, axis=-1, kind="stable")
    levels = alpha / np.asarray(divisors, float)
    passing = np.logical_and.accumulate(np.take_along_axis(p_values, order, -1) <= levels, axis=-1)
    last = np.minimum(passing.sum(axis=-1, keepdims=True), len(levels) - 1)
    used = np.where(passing, levels, levels[last])
    decided, tested = np.empty_like(passing), np.empty_like(used)
    np.put_along_axis(decided, order, passing, -1)
    np.put_along_axis(tested, order, used, -1)
    return decided, tested
