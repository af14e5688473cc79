"""What the figures draw of a cell's samples, already reduced to what a figure can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopmeter.analysis.percentiles import BEYOND, PERMILLE, estimate, least_count
from hopmeter.report.samples import Numbers, Trial, trials
from hopmeter.report.source import Row

BINS = 90
"""Of a distribution."""
MOMENTS = 150
"""Points of the course over time, all trials together."""


@dataclass(frozen=True)
class Moment:
    """A stretch of one trial."""

    trial: int
    at_s: float
    p50_us: float
    worst_us: float


@dataclass(frozen=True)
class Box:
    """A distribution as a box with whiskers, in µs."""

    low: float
    """The first message within 1.5 lengths of the box from its lower end."""
    q1: float
    p50: float
    q3: float
    high: float
    """The last within 1.5 lengths from its upper end."""
    beyond: tuple[float, ...]
    """Messages further out, the outermost and some of those between."""


WHISKER = 1.5
DOTS = 12
"""Messages drawn beyond each whisker, at most."""


def box(row: Row) -> Box | None:
    """Of the headline latency of all good trials; None where no sample is above zero."""
    return boxed(_pooled(row))


def boxed(pooled: Numbers) -> Box | None:
    """Of latencies in µs; None where none is above zero."""
    positive = np.sort(pooled[pooled > 0])
    if not len(positive):
        return None
    q1, p50, q3 = estimate(positive, (0.25, 0.5, 0.75))
    reach = WHISKER * (q3 - q1)
    inside = positive[(positive >= q1 - reach) & (positive <= q3 + reach)]
    beyond = (*_thinned(positive[positive < inside[0]]), *_thinned(positive[positive > inside[-1]]))
    return Box(float(inside[0]), q1, p50, q3, float(inside[-1]), beyond)


def _thinned(ordered: Numbers) -> list[float]:
    """Both ends, and between them what lies apart on a logarithmic axis."""
    if len(ordered) <= DOTS:
        return [float(value) for value in ordered]
    wanted = np.geomspace(ordered[0], ordered[-1], DOTS)
    return [float(value) for value in ordered[np.unique(np.searchsorted(ordered, wanted).clip(max=len(ordered) - 1))]]


def hops(row: Row) -> list[tuple[int, float, float]]:
    """(hop, p50, p90 in µs), from the source on, over all good trials."""
    found = trials(row)
    many = min((len(trial.hops_us) for trial in found), default=0)
    pooled = [np.concatenate([part for trial in found for part in trial.hops_us[hop]]) for hop in range(many)]
    return [(hop, *_p50_and_p90(each)) for hop, each in enumerate(pooled, 1) if len(each)]


def _p50_and_p90(hop_us: Numbers) -> tuple[float, float]:
    p50, p90 = estimate(hop_us, (0.5, 0.9))
    return p50, p90


def curve(row: Row) -> list[tuple[float, float]]:
    """(share of messages, latency in µs): every percentile that is resolved, dense towards the tail."""
    pooled = _pooled(row)
    if len(pooled) < least_count(PERMILLE["p50"]):
        return []
    last = np.log10(len(pooled) / BEYOND)
    shares = (1 - 10 ** -np.linspace(0, min(last, 3.0), 80)).tolist()
    return list(zip(shares, estimate(pooled, shares), strict=True))


def distribution(row: Row, ends: tuple[float, float]) -> list[tuple[float, float, float]]:
    """(from µs, to µs, height between 0 and 1) over bins of equal width on a logarithmic axis."""
    edges = np.geomspace(*ends, BINS + 1)
    heights, _ = np.histogram(_pooled(row), edges)
    tallest = max(int(heights.max()), 1)
    return [
        (float(low), float(high), many / tallest) for low, high, many in zip(edges, edges[1:], heights, strict=False)
    ]


def bulk(row: Row) -> tuple[float, float] | None:
    """Where all but the outermost messages lie."""
    pooled = _pooled(row)
    positive = pooled[pooled > 0]
    if not len(positive):
        return None
    low, high = estimate(positive, (0.001, 0.995))
    return low, high


def course(row: Row) -> list[Moment]:
    """The middle and the worst message of every stretch of every good trial, in the order of the trials."""
    found = trials(row)
    each = max(10, MOMENTS // max(len(found), 1))
    return [moment for trial in found for moment in _moments(trial, each)]


def _moments(trial: Trial, many: int) -> list[Moment]:
    order = np.argsort(trial.due_s, kind="stable")
    stretches = np.array_split(order, min(many, len(order))) if len(order) else []
    return [
        Moment(
            trial.number,
            float(trial.due_s[part].mean()),
            float(np.median(trial.took_us[part])),
            float(trial.took_us[part].max()),
        )
        for part in stretches
    ]


def _pooled(row: Row) -> Numbers:
    found = trials(row)
    return np.concatenate([trial.latency_us for trial in found]) if found else np.empty(0)
