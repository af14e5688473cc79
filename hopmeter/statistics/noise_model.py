"""Model the noise of trials in many tables at once. The modelled variance of a trial grows with the CPU time stolen
during the trial, and differs between cells. The estimated variance is robust to outliers.

The variance of a trial is `sd_cell² (1 + g · steal²)`, where g is the steal weight. Huber's function limits the
influence of outliers: residuals are clipped at `CLIP` standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopmeter.statistics.moderation import LEAST_CELLS, moderate
from hopmeter.statistics.observations import Floats
from hopmeter.statistics.two_way import TwoWay, fit_two_way

CLIP = 2.2
CLIPPED_VARIANCE = 0.9521
"""The variance of a standard normal variable after clipping at ±`CLIP`."""
PASSES = 12
STEAL_PASSES = (1, 3, 5)
"""The passes, counted from 0, in which the steal weight is estimated again."""
STEAL_WEIGHTS = np.concatenate([[0.0], np.geomspace(3, 3000, 13)])
USUAL_STEAL_WEIGHT = 100.0
STEAL_WEIGHT_SPREAD = 1.5
"""The standard deviation of the weak prior of log(1 + g). The prior's mean is at `USUAL_STEAL_WEIGHT`."""
LEAST_VARIANCE = 0.3
"""The minimum variance that the weights use, as a fraction of the median variance. This minimum prevents a single quiet
cell from determining the effects of the rounds."""
FLOOR = 1e-18
BEYOND_USE = 10.0
"""A trial is unusable if its variance is more than this multiple of the usual variance."""


def is_beyond_use(steal: float, usual_steal: float) -> bool:
    """Return whether a trial lost so much more CPU time than usual that the trial's result is almost meaningless."""
    variance, usual = (1 + USUAL_STEAL_WEIGHT * share**2 for share in (steal, usual_steal))
    return variance > BEYOND_USE * usual


@dataclass(frozen=True)
class NoiseModel:
    """The fitted effects of cells and rounds, and the noise, as arrays with the axes table, cell and round.

    `values` contains the trials with clipped outliers, and `inflation` is `1 + g · steal²`. `freedoms` contains the
    degrees of freedom of the moderated variances, and `own_freedoms` those of the unmoderated variances.
    """

    effects: TwoWay
    values: Floats
    known: NDArray[np.bool_]
    inflation: Floats
    variances: Floats
    freedoms: Floats
    own_freedoms: Floats
    steal_weight: Floats


def fit_noise(
    values: Floats, steal: Floats, known: NDArray[np.bool_], known_steal_weight: Floats | None = None
) -> NoiseModel:
    """Fit the effects of cells and rounds, and the variances, alternately in `PASSES` passes. If `known_steal_weight`
    is None, the steal weight is fitted too."""
    fixed = known_steal_weight is not None or not steal.any()
    steal_weight = np.full(len(values), USUAL_STEAL_WEIGHT) if known_steal_weight is None else known_steal_weight
    inflation = _inflation(steal, steal_weight)
    scales = _first_scales(values, known)
    pulled, variances, freedoms = values, scales**2, np.ones_like(scales)
    effects = fit_two_way(values, _weights(variances, inflation, known))
    for number in range(PASSES):
        spare = np.where(known, np.maximum(1 - effects.leverage, 1e-3), 0.0)
        residuals = np.where(known, values - effects.expectation, 0.0)
        if number in STEAL_PASSES and not fixed:
            steal_weight = _steal_weight(residuals, spare, steal, known)
            inflation = _inflation(steal, steal_weight)
        freedoms = spare.sum(axis=2)
        limits = CLIP * scales[:, :, None] * np.sqrt(inflation * np.maximum(spare, 1e-3))
        clipped = np.clip(residuals, -limits, limits)
        slope = _slope(residuals, limits, known)
        squares = _by_cell((clipped**2 / inflation).sum(axis=2), freedoms)
        scales = np.sqrt(np.maximum(moderate(squares / CLIPPED_VARIANCE, freedoms)[0], FLOOR))
        variances = np.maximum(squares / slope[:, None] ** 2, FLOOR)
        pulled = effects.expectation + clipped / slope[:, None, None]
        effects = fit_two_way(pulled, _weights(moderate(variances, freedoms)[0], inflation, known))
    moderated, total = moderate(variances, freedoms)
    return NoiseModel(effects, pulled, known, inflation, moderated, total, freedoms, steal_weight)


def _inflation(steal: Floats, steal_weight: Floats) -> Floats:
    inflation: Floats = 1 + steal_weight[:, None, None] * steal**2
    return inflation


def _first_scales(values: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return initial standard deviations from absolute deviations, after removing the medians of cells and rounds. The
    deviation of each cell is averaged with the mean deviation of the table's cells."""
    holes = np.where(known, values, np.nan)
    centred = holes - np.nanmedian(holes, axis=2, keepdims=True)
    empty = ~known.any(axis=1, keepdims=True)
    centred = centred - np.nanmedian(np.where(empty, 0.0, centred), axis=1, keepdims=True)
    own = 1.4826 * np.nanmean(np.abs(centred), axis=2)
    common = np.mean(own, axis=1, keepdims=True)
    scales: Floats = np.maximum((own + common) / 2, FLOOR**0.5)
    return scales


def _weights(variances: Floats, inflation: Floats, known: NDArray[np.bool_]) -> Floats:
    floor = np.maximum(LEAST_VARIANCE * np.median(variances, axis=1, keepdims=True), FLOOR)
    return np.where(known, 1 / (np.maximum(variances, floor)[:, :, None] * inflation), 0.0)


def _by_cell(squares: Floats, freedoms: Floats) -> Floats:
    """Return the variance of each cell, or one common variance if there are fewer than `LEAST_CELLS` cells."""
    if squares.shape[1] >= LEAST_CELLS:
        return np.maximum(squares / np.maximum(freedoms, 1e-3), FLOOR)
    common = squares.sum(axis=1, keepdims=True) / np.maximum(freedoms.sum(axis=1, keepdims=True), 1e-3)
    return np.broadcast_to(np.maximum(common, FLOOR), squares.shape).copy()


def _slope(residuals: Floats, limits: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return the fraction of trials that are not clipped, with a correction for the number of fitted parameters.
    This fraction is the factor by which clipping reduces the slope of the mean residual."""
    counts = known.sum(axis=(1, 2))
    inside = np.maximum(((np.abs(residuals) <= limits) & known).sum(axis=(1, 2)) / counts, 0.5)
    parameters = (known.any(axis=2).sum(axis=1) + known.any(axis=1).sum(axis=1) - 1) / counts
    slope: Floats = inside / (1 + parameters * (1 - inside) / inside)
    return slope


def _steal_weight(residuals: Floats, spare: Floats, steal: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return the steal weight g with the highest posterior density. The likelihood is Student's t with 4 degrees of
    freedom."""
    squares = residuals**2 / np.maximum(spare, 1e-3)
    losses = np.stack([_loss(squares, 1 + weight * steal**2, known) for weight in STEAL_WEIGHTS])
    distance = np.log1p(STEAL_WEIGHTS) - np.log1p(USUAL_STEAL_WEIGHT)
    losses += (distance / STEAL_WEIGHT_SPREAD)[:, None] ** 2
    chosen: Floats = STEAL_WEIGHTS[np.argmin(losses, axis=0)]
    return chosen


def _loss(squares: Floats, inflation: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return twice the negative log-likelihood. To compute it, four iterations fit the scale of each cell's noise."""
    scaled = squares / inflation
    counts = np.maximum(known.sum(axis=2), 1)
    scale = np.maximum((np.sqrt(scaled) * known).sum(axis=2) / counts, FLOOR**0.5) ** 2
    for _ in range(4):
        scale = np.maximum((known * 5 * scaled / (4 + scaled / scale[:, :, None])).sum(axis=2) / counts, FLOOR)
    each = np.log(scale)[:, :, None] + np.log(inflation) + 5 * np.log1p(scaled / (4 * scale[:, :, None]))
    total: Floats = (known * each).sum(axis=(1, 2))
    return total
