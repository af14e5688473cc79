"""Summarise the samples of a row for figures: box plots, percentile curves, histograms and latency over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.percentiles import BEYOND, PERMILLE, estimate, least_count
from hopmeter.analysis.results.message_samples import Hop, Numbers, Trial, trials
from hopmeter.analysis.results.run_results import Row

Order = NDArray[np.intp]

BINS = 90
"""The number of bins in a histogram."""
POINTS = 150
"""The total number of sections of all trials in a plot of latency over time."""


@dataclass(frozen=True)
class Stretch:
    """A section of consecutive messages in one trial."""

    trial: int
    at_s: float
    p50_us: float | None
    """The median latency, or None if the median falls on a lost message."""
    worst_us: float | None
    """The latency of the slowest message that arrived, or None if the section has no median."""


@dataclass(frozen=True)
class Box:
    """The values of a box plot, in µs."""

    low: float
    """The lower whisker: the fastest message within 1.5 box lengths of the lower quartile."""
    q1: float
    p50: float
    q3: float
    high: float
    """The upper whisker: the slowest message within 1.5 box lengths of the upper quartile."""
    beyond: tuple[float, ...]
    """Selected messages beyond the whiskers. The fastest and the slowest of them are always selected."""


WHISKER = 1.5
DOTS = 12
"""The maximum number of messages shown beyond each whisker."""
NOTCH = 1.57
"""The factor for a median's confidence interval (McGill, Tukey and Larsen). The half-width is `NOTCH` times the box
length, divided by the square root of the message count."""


def row_box(row: Row) -> Box | None:
    """Return the box plot of all good trials of a row, or None if no sample is above zero."""
    return box(*_pool(row))


def box(pooled: Numbers, lost: int) -> Box | None:
    """Return the box plot of latencies in µs, or None if no latency is above zero or the upper quartile falls on a lost
    message."""
    positive = np.sort(pooled[pooled > 0])
    q1, p50, q3 = estimate(positive, (0.25, 0.5, 0.75), lost)
    if q1 is None or p50 is None or q3 is None:
        return None
    reach = WHISKER * (q3 - q1)
    inside = positive[(positive >= q1 - reach) & (positive <= q3 + reach)]
    beyond = (*_thin(positive[positive < inside[0]]), *_thin(positive[positive > inside[-1]]))
    return Box(float(inside[0]), q1, p50, q3, float(inside[-1]), beyond)


def _thin(ordered: Numbers) -> list[float]:
    """Return at most `DOTS` values: the smallest, the largest, and values between them that are evenly spaced on a
    logarithmic axis."""
    if len(ordered) <= DOTS:
        return [float(value) for value in ordered]
    wanted = np.geomspace(ordered[0], ordered[-1], DOTS)
    return [float(value) for value in ordered[np.unique(np.searchsorted(ordered, wanted).clip(max=len(ordered) - 1))]]


def notch(pooled: Numbers, lost: int) -> tuple[float, float] | None:
    """Return the approximate 95 % interval of the median, or None if the upper quartile falls on a lost message. The
    messages are assumed to be independent."""
    q1, p50, q3 = estimate(pooled, (0.25, 0.5, 0.75), lost)
    if q1 is None or p50 is None or q3 is None:
        return None
    half = NOTCH * (q3 - q1) / len(pooled) ** 0.5
    return max(p50 - half, float(pooled.min())), p50 + half


def hop_percentiles(row: Row) -> list[tuple[int, float, float]]:
    """For each hop, starting at the source, return (hop, p50, p90) in µs over all good trials. A hop is left out if the
    p90 of the hop falls on a lost message."""
    found = trials(row)
    many = min((len(trial.hops) for trial in found), default=0)
    pooled = [Hop.join([trial.hops[hop] for trial in found]) for hop in range(many)]
    both = [estimate(each.took_us, (0.5, 0.9), each.lost) for each in pooled]
    return [(hop, p50, p90) for hop, (p50, p90) in enumerate(both, 1) if p50 is not None and p90 is not None]


def percentile_curve(row: Row) -> list[tuple[float, float]]:
    """Return (fraction of messages, latency in µs) for all resolved percentiles. The curve has more points in the tail
    than near the median.

    The curve ends before the lost messages, which count as slower than all messages that arrived.
    """
    pooled, lost = _pool(row)
    count = len(pooled) + lost
    if count < least_count(PERMILLE["p50"]):
        return []
    last = np.log10(count / BEYOND)
    shares = (1 - 10 ** -np.linspace(0, min(last, 3.0), 80)).tolist()
    known = zip(shares, estimate(pooled, shares, lost), strict=True)
    return [(share, latency) for share, latency in known if latency is not None]


def histogram(row: Row, ends: tuple[float, float]) -> list[tuple[float, float, float]]:
    """Return (lower edge in µs, upper edge in µs, relative height) of each bin. The bins have equal widths on a
    logarithmic axis."""
    edges = np.geomspace(*ends, BINS + 1)
    heights, _ = np.histogram(_pool(row)[0], edges)
    tallest = max(int(heights.max()), 1)
    return [
        (float(low), float(high), many / tallest) for low, high, many in zip(edges, edges[1:], heights, strict=False)
    ]


def bulk(row: Row) -> tuple[float, float] | None:
    """Return the latency range from the 0.1 % to the 99.5 % quantile, ignoring lost messages, or None if there are no
    samples."""
    pooled, _ = _pool(row)
    low, high = estimate(pooled[pooled > 0], (0.001, 0.995), lost=0)
    return None if low is None or high is None else (low, high)


def latency_over_time(row: Row) -> list[Stretch]:
    """Return the median and the slowest message of each section of each good trial, in trial order."""
    found = trials(row)
    each = max(10, POINTS // max(len(found), 1))
    return [stretch for trial in found for stretch in _stretches(trial, each)]


def _stretches(trial: Trial, many: int) -> list[Stretch]:
    order = np.argsort(trial.due_s, kind="stable")
    stretches = np.array_split(order, min(many, len(order))) if len(order) else []
    return [_stretch(trial, part) for part in stretches]


def _stretch(trial: Trial, part: Order) -> Stretch:
    took = trial.took_us[part]
    arrived = took[np.isfinite(took)]
    (p50,) = estimate(arrived, (0.5,), len(took) - len(arrived))
    worst = None if p50 is None else float(arrived.max())
    return Stretch(trial.number, float(trial.due_s[part].mean()), p50, worst)


def _pool(row: Row) -> tuple[Numbers, int]:
    """Return the latencies of all good trials of a row, and the number of lost messages."""
    found = trials(row)
    pooled = np.concatenate([trial.latency_us for trial in found]) if found else np.empty(0)
    return pooled, sum(trial.lost for trial in found)
