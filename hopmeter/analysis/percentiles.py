"""Percentiles of raw samples and their confidence intervals. docs/method.md gives the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.model.columns import BOUNDED

PERMILLE = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
BEYOND = 10
"""With fewer samples beyond it a percentile is not resolved."""
LEAST_TRIALS = 3
"""With fewer trials the spread between trials is unknown."""
QUICK_TRIALS = 5
"""With fewer trials a cell is only a quick look."""
CONFIDENCE = 0.95

Nanoseconds = NDArray[np.int64]
Samples = NDArray[np.int64] | NDArray[np.float64]


def is_resolved(count: int, permille: int) -> bool:
    """Return whether enough samples are beyond a percentile."""
    return count * (1000 - permille) >= BEYOND * 1000


def resolvable(count: int) -> int:
    """Return the least number of samples that resolves the same percentiles as `count` samples."""
    counts = [least_count(permille) for permille in PERMILLE.values()]
    return max((each for each in counts if each <= count), default=0)


def least_count(permille: int) -> int:
    """Return the fewest samples that resolve a percentile."""
    return math.ceil(BEYOND * 1000 / (1000 - permille))


def estimate(values: Samples, shares: Sequence[float], reorder: bool = False) -> list[float]:
    """Estimate quantiles, resolved or not, with the one estimator of hopmeter: Hyndman and Fan's type 8.

    With `reorder` the function partly sorts `values` and needs no copy of them.
    """
    found: list[float] = np.quantile(values, shares, method="median_unbiased", overwrite_input=reorder).tolist()
    return found


def quantiles(values: Nanoseconds, permilles: Iterable[int]) -> list[float | None]:
    """Return percentiles, None if not resolved. Reorders `values`, to avoid copying large arrays."""
    wanted = list(permilles)
    known = [each for each in wanted if is_resolved(len(values), each)]
    found = estimate(values, [each / 1000 for each in known], reorder=True) if known else []
    by_permille = dict(zip(known, found, strict=True))
    return [by_permille.get(each) for each in wanted]


@lru_cache(maxsize=256)
def _factor(trials: int) -> float:
    """Return the half-width of the interval in standard deviations of one trial."""
    from scipy.special import stdtrit  # takes half of a command's start-up time, and most commands show no interval

    return float(stdtrit(trials - 1, (1 + CONFIDENCE) / 2)) / math.sqrt(trials)


def interval(
    per_trial: Sequence[float | None], point: float | None, positive: bool = True
) -> tuple[float, float] | None:
    """Return the 95 % interval of a pooled percentile from the spread of the trials' percentiles; None if there are too
    few.

    Student's t about the trials' mean, on logarithms if all samples are `positive`; widened on one side by the distance
    of the pooled percentile from that mean, since that difference is a visible bias. Positive percentiles alone do not
    justify logarithms: samples around zero may have them by chance.
    """
    known = [each for each in per_trial if each is not None]
    if point is None or len(known) < LEAST_TRIALS or len(known) < len(per_trial):
        return None
    if positive:
        low, high = _about([math.log(each) for each in known], math.log(point))
        return math.exp(low), math.exp(high)
    return _about(known, point)


def _about(values: Sequence[float], point: float) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((each - mean) ** 2 for each in values) / (len(values) - 1))
    half = _factor(len(values)) * spread
    return min(mean, point) - half, max(mean, point) + half


def summary(name: str, trials: Sequence[Sequence[Nanoseconds]], bounded: Sequence[str] = BOUNDED) -> dict[str, Any]:
    """Return the columns of one latency from the samples of each good trial; empty if there are none.

    The percentiles in `bounded` get interval columns too.
    """
    pieces = [piece for trial in trials for piece in trial]
    pooled = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    if not len(pooled):
        return {}
    permilles = [PERMILLE[each] for each in bounded]
    per_trial = _of_trials(pooled, [sum(len(piece) for piece in trial) for trial in trials], permilles)
    points = dict(zip(PERMILLE, quantiles(pooled, PERMILLE.values()), strict=True))
    columns: dict[str, Any] = {f"{name}_count": len(pooled)}
    moments, lowest = _moments(pooled), int(pooled.min())
    for statistic, value in (moments | points).items():
        columns[f"{name}_{statistic}_us"] = _us(value)
    for place, each in enumerate(bounded):
        own = [found[place] for found in per_trial]
        bounds = interval(own, points[each], positive=lowest > 0) or (None, None)
        columns[f"{name}_{each}_low_us"], columns[f"{name}_{each}_high_us"] = map(_us, bounds)
    return columns


def _of_trials(pooled: Nanoseconds, counts: Sequence[int], permilles: Sequence[int]) -> list[list[float | None]]:
    """Return the percentiles of each trial. A trial's samples are contiguous, and their order does not matter."""
    ends = np.cumsum(counts)
    return [quantiles(pooled[end - count : end], permilles) for end, count in zip(ends, counts, strict=True)]


def _moments(values: Nanoseconds) -> dict[str, float | None]:
    mean = float(values.mean())
    deviation = math.sqrt(_squares(values, mean) / (len(values) - 1)) if len(values) > 1 else None
    return {"mean": mean, "std": deviation, "min": float(values.min()), "max": float(values.max())}


def _squares(values: Nanoseconds, mean: float) -> float:
    """Sum the squared deviations in blocks, because converting all to floating point at once would be a second copy."""
    stretch = 1 << 18
    parts = (values[first : first + stretch] - mean for first in range(0, len(values), stretch))
    return math.fsum(float(np.dot(part, part)) for part in parts)


def _us(value: float | None) -> float | None:
    return None if value is None else value / 1000
