"""Compute the columns of one latency: percentiles with intervals, mean, standard deviation and extremes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hopmeter.analysis.latency.intervals import Ends, Spread, measure_spread
from hopmeter.analysis.latency.percentiles import PERMILLE, Nanoseconds, quantiles
from hopmeter.model.columns import BOUNDED


def summary(
    name: str,
    trials: Sequence[Sequence[Nanoseconds]],
    lost: Sequence[int],
    bounded: Sequence[str] = BOUNDED,
) -> dict[str, Any]:
    """Return the columns of one latency from the samples of the good trials. If there are no samples, return only the
    number of lost messages.

    The percentiles in `bounded` also get columns for their confidence intervals. For each trial, `lost` is the number
    of messages that lack this latency. Percentiles count lost messages as later than all others; other statistics
    ignore lost messages.
    """
    pooled, parts = join(trials)
    if not len(pooled):
        return {f"{name}_lost": sum(lost)} if any(lost) else {}
    # The spreads come first, because `quantiles` reorders the samples.
    spreads = {each: measure_spread(parts, lost, PERMILLE[each]) for each in bounded}
    points = dict(zip(PERMILLE, quantiles(pooled, PERMILLE.values(), sum(lost)), strict=True))
    columns: dict[str, Any] = {f"{name}_count": len(pooled), f"{name}_lost": sum(lost)}
    for statistic, value in (_moments(pooled) | points).items():
        columns[f"{name}_{statistic}_us"] = _us(value)
    for each, (low, high) in _intervals(spreads, points, positive=int(pooled.min()) > 0).items():
        columns[f"{name}_{each}_low_us"], columns[f"{name}_{each}_high_us"] = _us(low), _us(high)
    return columns


def join(trials: Sequence[Sequence[Nanoseconds]]) -> tuple[Nanoseconds, list[Nanoseconds]]:
    """Return all samples in one array, and each trial's samples as views of that array."""
    pieces = [piece for trial in trials for piece in trial]
    pooled = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    return pooled, np.split(pooled, np.cumsum([sum(map(len, trial)) for trial in trials])[:-1])


def _intervals(spreads: Mapping[str, Spread], points: Mapping[str, float | None], positive: bool) -> Mapping[str, Ends]:
    return {
        each: (None, None) if points[each] is None else spread.bounds(points[each], positive)
        for each, spread in spreads.items()
    }


def _moments(values: Nanoseconds) -> dict[str, float | None]:
    mean = float(values.mean())
    deviation = math.sqrt(_squares(values, mean) / (len(values) - 1)) if len(values) > 1 else None
    return {"mean": mean, "std": deviation, "min": float(values.min()), "max": float(values.max())}


def _squares(values: Nanoseconds, mean: float) -> float:
    """Sum the squared deviations from the mean, one block of samples at a time. Converting all samples to floating
    point at once would need a large copy."""
    stretch = 1 << 18
    parts = (values[first : first + stretch] - mean for first in range(0, len(values), stretch))
    return math.fsum(float(np.dot(part, part)) for part in parts)


def _us(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value / 1000
