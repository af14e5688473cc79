"""Check that 95 % intervals contain the true value for samples from known distributions.

Each test uses 1000 fixed seeds, so the outcome is the same on every machine. With 1000 seeds, the measured coverage has
a standard deviation of 0.7 %, which the limit allows for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from hopmeter.analysis.latency.latency_columns import summary
from tests.analysis.made import MS, analyse_trials, cell, messages

pytestmark = pytest.mark.slow

SEEDS = 1000
MESSAGES = 1000
LEAST = 0.93
NORMAL = NormalDist()

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """Samples of `trials` trials in microseconds, and the true quantile for any probability."""

    draw: Callable[[np.random.Generator, int], Samples]
    truth: Callable[[float], float]


def inverse(share_below: Callable[[float], float], low: float, high: float) -> Callable[[float], float]:
    """Return quantiles of a distribution function, found by bisection."""

    def quantile(share: float) -> float:
        below, above = low, high
        for _ in range(80):
            middle = (below + above) / 2
            below, above = (middle, above) if share_below(middle) < share else (below, middle)
        return above

    return quantile


def lognormal(random: np.random.Generator, trials: int) -> Samples:
    return random.lognormal(3, 0.5, (trials, MESSAGES))


def two_modes(random: np.random.Generator, trials: int) -> Samples:
    """Latencies with two modes: for 30 % of the messages, the receiver is asleep."""
    asleep = random.random((trials, MESSAGES)) < 0.3
    return np.where(asleep, random.normal(100, 5, asleep.shape), random.normal(20, 1, asleep.shape))


def rare_mode(random: np.random.Generator, trials: int) -> Samples:
    """A little over 1 % of the messages take 25 times as long as all other messages, so p99 is close to the jump."""
    long = random.random((trials, MESSAGES)) < 0.012
    return np.exp(np.where(long, random.normal(6.2, 0.3, long.shape), random.normal(3, 0.1, long.shape)))


def correlated_samples(random: np.random.Generator, trials: int) -> Samples:
    """Latencies with bursts of slow messages, at a level that varies from trial to trial."""
    from scipy.signal import (
        lfilter,
    )  # SciPy's signal module takes a second to load, and every worker collects this file

    steps = random.normal(0, 0.6, (trials, MESSAGES))
    steps[:, 0] /= 0.6
    stretches = lfilter([1], [1, -0.8], steps, axis=1)
    return np.exp(3 + 0.5 * stretches + random.normal(0, 0.1, (trials, 1)))


def about_zero(random: np.random.Generator, trials: int) -> Samples:
    """Latencies around zero, some of them negative, for which logarithms are undefined."""
    return random.normal(0, 10, (trials, MESSAGES))


DISTRIBUTIONS = {
    "lognormal": Known(lognormal, lambda share: math.exp(3 + 0.5 * NORMAL.inv_cdf(share))),
    "two modes": Known(
        two_modes,
        inverse(lambda us: 0.3 * NormalDist(100, 5).cdf(us) + 0.7 * NormalDist(20, 1).cdf(us), 0, 200),
    ),
    "rare mode": Known(
        rare_mode,
        inverse(
            lambda us: 0.012 * NormalDist(6.2, 0.3).cdf(math.log(us)) + 0.988 * NormalDist(3, 0.1).cdf(math.log(us)),
            1,
            5000,
        ),
    ),
    "related, shifted": Known(
        correlated_samples, lambda share: math.exp(3 + math.hypot(0.5, 0.1) * NORMAL.inv_cdf(share))
    ),
    "about zero": Known(about_zero, NormalDist(0, 10).inv_cdf),
}


def in_ns(samples: Samples) -> NDArray[np.int64]:
    return np.rint(samples * 1000).astype(np.int64)


@pytest.mark.parametrize("trials", [3, 5, 10])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_intervals_cover_the_truth(name: str, trials: int) -> None:
    known = DISTRIBUTIONS[name]
    truths = {"p50": known.truth(0.5), "p99": known.truth(0.99)}
    covered = dict.fromkeys(truths, 0)
    for seed in range(SEEDS):
        samples = in_ns(known.draw(np.random.default_rng(seed), trials))
        row = summary("response", [[trial] for trial in samples], [0] * len(samples))
        for column, truth in truths.items():
            low, high = row[f"response_{column}_low_us"], row[f"response_{column}_high_us"]
            covered[column] += low <= truth <= high
    assert min(covered.values()) >= LEAST * SEEDS, covered


def test_the_truth_is_true() -> None:
    for known in DISTRIBUTIONS.values():
        many = known.draw(np.random.default_rng(7), 2000)
        assert np.quantile(many, (0.5, 0.99)) == pytest.approx([known.truth(0.5), known.truth(0.99)], rel=0.03, abs=0.1)


def test_files_give_the_same_figures_as_the_samples_in_them(tmp_path: Path) -> None:
    """Results computed from stored files equal those computed from the samples directly."""
    samples = in_ns(lognormal(np.random.default_rng(3), 3))
    trials = []
    for each in samples:
        came = [{"seq": seq, "arrived": seq * MS + int(took)} for seq, took in enumerate(each)]
        trials.append({0: messages(MESSAGES), 1: came})
    row = analyse_trials(tmp_path, cell(trials=3), *trials)
    for column, value in summary("response", [[trial] for trial in samples], [0] * len(samples)).items():
        assert row[column] == value, column
