"""Simulate the coverage of the p99 interval and the judgement of limits: `python -m tests.statistics.tail_simulation`.

Prints the table in docs/method.md. Trials have 125 messages, as in a quick look, so no trial resolves its own p99.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hopmeter.statistics.shares.tails import count_late

Floats = NDArray[np.float64]
Setting = Callable[[Generator, int], Floats]
"""Draws the latencies of trials; the axes are trial and message."""
MESSAGES = 125
BEYOND = 0.01
ALPHA = 0.05
ROUNDS = (5, 8, 12, 24)
FAR = 10
"""A clearly met limit as a multiple of the cell's p99."""
LATE = 0.05
"""The share of messages that exceed a clearly missed limit."""


def independent(rng: Generator, trials: int) -> Floats:
    return rng.lognormal(0, 0.5, (trials, MESSAGES))


def levels_differ(rng: Generator, trials: int) -> Floats:
    """Latencies whose level varies by 20 % between trials."""
    return independent(rng, trials) * rng.lognormal(0, 0.2, (trials, 1))


def rare_mode(rng: Generator, trials: int) -> Floats:
    """A little over 1 % of the messages take 25 times as long as all other messages."""
    return rng.lognormal(0, 0.2, (trials, MESSAGES)) * np.where(rng.random((trials, MESSAGES)) < 0.012, 25, 1)


def short_stalls(rng: Generator, trials: int) -> Floats:
    return _stalls(rng, trials, per_s=10, mean_ms=1)


def frequent_stalls(rng: Generator, trials: int) -> Floats:
    return _stalls(rng, trials, per_s=30, mean_ms=2)


def rare_stalls(rng: Generator, trials: int) -> Floats:
    """Latencies with rare stalls: eight trials last one second in total, and one in seven runs contains no stall."""
    return _stalls(rng, trials, per_s=2, mean_ms=8)


def _stalls(rng: Generator, trials: int, per_s: float, mean_ms: float) -> Floats:
    """Return the latencies of one message per millisecond; messages that are due during a stall wait until its end."""
    due, before = np.arange(MESSAGES), 50
    latencies = rng.lognormal(math.log(0.1), 0.3, (trials, MESSAGES))
    for values in latencies:
        for began in rng.uniform(-before, MESSAGES, rng.poisson(per_s * (MESSAGES + before) / 1000)):
            ended = began + rng.exponential(mean_ms)
            np.maximum(values, np.where((due >= began) & (due < ended), ended - due, 0), out=values)
    return latencies


def busy_unix(rng: Generator, trials: int) -> Floats:
    """Trials recorded on a two-core VM with other programs; on average, eight threads were runnable."""
    return _recorded_trials("unix")[rng.integers(0, len(_recorded_trials("unix")), trials)]


def busy_zeromq(rng: Generator, trials: int) -> Floats:
    return _recorded_trials("zeromq")[rng.integers(0, len(_recorded_trials("zeromq")), trials)]


@cache
def _recorded_trials(cell: str) -> Floats:
    """Return the recorded trials. The file contains only the slowest 20 % of the messages; all other messages count as
    0."""
    with (Path(__file__).parent / "short_trials.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["cell"] == cell]
    found = np.zeros((len(rows), int(rows[0]["messages"])))
    for trial, row in zip(found, rows, strict=True):
        late = [float(each) for each in row["late_us"].split()]
        trial[: len(late)] = late
    return found


SETTINGS = (independent, levels_differ, rare_mode, short_stalls, frequent_stalls, rare_stalls, busy_unix, busy_zeromq)


@cache
def quantile(setting: Setting, share: float) -> float:
    """Return the true quantile of a noise model."""
    if setting in (busy_unix, busy_zeromq):
        values = _recorded_trials("unix" if setting is busy_unix else "zeromq")
    else:
        values = setting(np.random.default_rng(7), 5000)
    return float(np.quantile(values, share, method="inverted_cdf"))


@dataclass(frozen=True)
class Rates:
    """Shares of the simulated runs with each kind of result."""

    too_high: float
    """The share of runs whose whole interval is above the true p99, so that a cell that just meets its limit would miss
    it."""
    too_low: float
    """The share of runs whose whole interval is below the true p99, so that a cell that just misses its limit would
    meet it."""
    clear_met: float
    """The share of runs in which a limit of ten times the p99 is judged as met."""
    clear_missed: float
    """The share of runs in which a limit that 5 % of the messages exceed is judged as missed."""

    @property
    def coverage(self) -> float:
        return 1 - self.too_high - self.too_low


@cache
def simulate(setting: Setting, rounds: int, seeds: int = 1000) -> Rates:
    """Judge the p99 of simulated runs with fixed seeds."""
    truth, near = quantile(setting, 1 - BEYOND), quantile(setting, 1 - LATE)
    lows, highs = np.transpose([_interval(setting, rounds, seed) for seed in range(seeds)])
    far = FAR * truth
    return Rates(*(float(np.mean(each)) for each in (lows > truth, highs < truth, highs < far, lows >= near)))


def _interval(setting: Setting, rounds: int, seed: int) -> tuple[float, float]:
    trials = setting(np.random.default_rng(seed), rounds)
    return count_late(list(trials), [0] * rounds, BEYOND).bounds(ALPHA)


if __name__ == "__main__":
    print("| latencies | " + " | ".join(f"{rounds} rounds" for rounds in ROUNDS) + " |")
    for setting in SETTINGS:
        found = [simulate(setting, rounds) for rounds in ROUNDS]
        cells = [f"{100 * each.coverage:.1f} %, {each.clear_met:.2f}, {each.clear_missed:.2f}" for each in found]
        print(f"| {setting.__name__.replace('_', ' ')} | " + " | ".join(cells) + " |", flush=True)
