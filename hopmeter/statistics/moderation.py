"""Moderate variances (empirical Bayes): shrink each cell's variance towards a common value. The shrinkage is stronger
if the variances of the cells are similar."""

from __future__ import annotations

import numpy as np

from hopmeter.statistics.observations import Floats

LEAST_CELLS = 5
"""The minimum number of cells for which variances are moderated."""
ALLOWANCE = 2.0
"""The estimated spread of the cells' variances is increased by this many standard errors."""


def moderate(variances: Floats, freedoms: Floats) -> tuple[Floats, Floats]:
    """Return the moderated variances and their degrees of freedom, as arrays with the axes table and cell.

    The cells' variances are modelled by a scaled inverse chi-square distribution, fitted to the logarithms of the
    variances (Smyth 2004) after outliers are clipped. `ALLOWANCE` standard errors are added to the spread of the
    logarithms, because too strong a prior understates the variance of noisy cells.
    """
    if variances.shape[1] < LEAST_CELLS:
        return variances, freedoms
    from scipy.special import digamma, zeta  # SciPy is slow to import, and most commands need no statistics

    half = np.maximum(freedoms, 1.0) / 2
    centred = _clip_odd(np.log(variances) - digamma(half) + np.log(half))
    noise = zeta(2, half).mean(axis=1)
    allowance = ALLOWANCE * noise * np.sqrt(2 / (variances.shape[1] - 1))
    spread = np.maximum(centred.var(axis=1, ddof=1) - noise, 0) + allowance
    prior_half = _inverse_trigamma(spread)
    prior = np.exp(centred.mean(axis=1) + digamma(prior_half) - np.log(prior_half))[:, None]
    prior_freedom = 2 * prior_half[:, None]
    total = prior_freedom + freedoms
    return (prior_freedom * prior + freedoms * variances) / total, total


def _clip_odd(values: Floats) -> Floats:
    middle = np.median(values, axis=1, keepdims=True)
    reach = 3 * 1.4826 * np.median(np.abs(values - middle), axis=1, keepdims=True)
    clipped: Floats = np.clip(values, middle - reach, middle + reach)
    return clipped


def _inverse_trigamma(values: Floats) -> Floats:
    """Solve trigamma(x) = value for x with Newton's method on 1 / trigamma, which is almost linear.

    Hurwitz's zeta function with the exponent 2 equals trigamma; with the exponent 3, it equals -1/2 times the
    derivative of trigamma.
    """
    from scipy.special import zeta

    found = 0.5 + 1 / values
    for _ in range(5):
        trigamma = zeta(2, found)
        found = np.maximum(found - trigamma * (1 - trigamma / values) / (2 * zeta(3, found)), 1e-3)
    return found
