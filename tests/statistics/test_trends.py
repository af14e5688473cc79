"""Tests for trends: a planned trend is found, and autocorrelated values without a trend rarely show one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from hopmeter.statistics.trends import BLOCKS, Trend, combine, fit_trend

Floats = NDArray[np.float64]
SERIES = 1000
ROWS = 16
"""The number of rows that share the 5 % level in `latency-growth`."""


def independent(rng: Generator) -> Floats:
    return 0.2 * rng.normal(size=(SERIES, BLOCKS))


def bursts(rng: Generator) -> Floats:
    """Noise in which one of ten blocks is much slower than the others."""
    return independent(rng) + np.where(rng.random((SERIES, BLOCKS)) < 0.1, rng.exponential(3, (SERIES, BLOCKS)), 0)


def autoregression(rng: Generator, share: float) -> Floats:
    """Noise in which neighbouring blocks have the given correlation."""
    drawn = rng.normal(size=(SERIES, BLOCKS + 50))
    for at in range(1, BLOCKS + 50):
        drawn[:, at] += share * drawn[:, at - 1]
    return 0.2 * drawn[:, 50:]


def busy_spells(rng: Generator, blocks: float) -> Floats:
    """Noise of a machine that is busy for the given mean number of blocks, and then idle for equally many."""
    change = rng.random((SERIES, BLOCKS)) < 1 / blocks
    is_busy = (rng.integers(2, size=(SERIES, 1)) + np.cumsum(change, axis=1)) % 2
    return 0.5 * is_busy + 0.1 * rng.normal(size=(SERIES, BLOCKS))


SETTINGS = {
    "independent": independent,
    "bursts": bursts,
    "correlation 0.3": lambda rng: autoregression(rng, 0.3),
    "correlation 0.6": lambda rng: autoregression(rng, 0.6),
    "correlation 0.8": lambda rng: autoregression(rng, 0.8),
    "busy for 3 blocks": lambda rng: busy_spells(rng, 3),
    "busy for 6 blocks": lambda rng: busy_spells(rng, 6),
    "busy for 12 blocks": lambda rng: busy_spells(rng, 12),
}


def false_share(series: Floats, level: float) -> float:
    bounds = [fit_trend(np.exp(each)).bounds(level) for each in series]
    return sum(low > 1 or high < 1 for low, high in bounds) / len(bounds)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_values_without_a_trend_rarely_show_one(name: str) -> None:
    series = SETTINGS[name](np.random.default_rng(4))
    chance = 2.6 * (0.05 * 0.95 / SERIES) ** 0.5
    assert false_share(series, 0.05) <= 0.05 + chance
    assert false_share(series, 0.05 / ROWS) <= 0.05 / ROWS + 2.6 * (0.05 / ROWS / SERIES) ** 0.5


def test_a_planned_trend_is_found_and_its_interval_contains_it() -> None:
    rng = np.random.default_rng(6)
    line = math.log(1.12) * np.arange(BLOCKS) / BLOCKS
    bounds = [fit_trend(np.exp(line + 0.05 * each)).bounds(0.05) for each in autoregression(rng, 0.3)[:200]]
    assert sum(low > 1 for low, _ in bounds) >= 190
    assert sum(low <= 1.12 <= high for low, high in bounds) >= 185


def test_growth_that_bends_is_found() -> None:
    """A leak that adds a constant time per message is a curve on a logarithmic scale."""
    low, high = fit_trend(1 + 0.42 * np.arange(BLOCKS) / BLOCKS).bounds(0.05)
    assert 1.3 < low < 1.42 < high < 1.5


def test_trials_that_differ_more_than_each_says_widen_the_interval() -> None:
    sure = [Trend(growth, 0.001, 20.0) for growth in (0.0, 0.2, 0.1)]
    assert combine(sure[:1]) == sure[0]
    low, high = combine(sure).bounds(0.05)
    assert low < 1 < math.exp(0.1) < high
