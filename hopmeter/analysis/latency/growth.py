"""Test whether the median latency grows during a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hopmeter.analysis.latency.arrivals import Times
from hopmeter.analysis.latency.intervals import ALPHA
from hopmeter.statistics.trends import BLOCKS, Trend, combine, fit_trend
from hopmeter.store.samples import NONE_NS

LEAST_S = 20.0
"""The minimum duration, in seconds, of a trial that is tested for a trend."""
LEAST_MESSAGES = 20
"""The minimum number of messages per block, so that each block has a usable median."""


def trend_of(start: Times, done: Times) -> Trend | None:
    """Return the trend of the median latency during a trial. A lost message counts as later than all messages that
    arrived.

    Return None if the trial is too short or if any section of the trial has too few messages.
    """
    known = start != NONE_NS
    due = start[known]
    if len(due) < LEAST_MESSAGES * BLOCKS or due.max() - due.min() < LEAST_S * 1e9:
        return None
    took = np.where(done[known] == NONE_NS, np.inf, done[known] - due)
    place = (BLOCKS * (due - due.min()) / (due.max() - due.min() + 1)).astype(int)
    if np.bincount(place, minlength=BLOCKS).min() < LEAST_MESSAGES:
        return None
    medians = np.array([np.median(took[place == block]) for block in range(BLOCKS)])
    return fit_trend(medians) if np.isfinite(medians).all() and medians.min() > 0 else None


def set_growth(rows: Sequence[dict[str, Any]], trends: Mapping[str, Sequence[Trend]]) -> None:
    """Fill in `growth` and its confidence interval in each row that has trends. The intervals are simultaneous: the
    confidence level applies to all rows together."""
    found = {cell: combine(each) for cell, each in trends.items() if each}
    for row in rows:
        if (trend := found.get(row["cell"])) is not None:
            low, high = trend.bounds(ALPHA / len(found))
            row |= {"growth": float(np.exp(trend.growth)), "growth_low": low, "growth_high": high}
