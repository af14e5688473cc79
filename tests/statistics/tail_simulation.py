"""How often the interval of p99 contains it, and limits are judged: `python -m tests.statistics.tail_simulation`.

Prints the table of docs/method.md. The trials have 125 messages, as in a quick look, so none of them has a p99.
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
"""A limit that a cell clearly meets is so many times its p99."""
LATE = 0.05
"""Of a limit that a cell clearly misses, so large a share of the messages is later."""


def independent(rng: Generator, trials: int) -> Floats:
    return rng.lognormal(0, 0.5, (trials, MESSAGES))


def levels_differ(rng: Generator, trials: int) -> Floats:
    """The level of a trial differs by 20 % from that of the next."""
    return independent(rng, trials) * rng.lognormal(0, 0.2, (trials, 1))


def rare_mode(rng: Generator, trials: int) -> Floats:
    """A little over 1 % of the messages take 25 times as long."""
    return rng.lognormal(0, 0.2, (trials, MESSAGES)) * np.where(rng.random((trials, MESSAGES)) < 0.012, 25, 1)


def short_stalls(rng: Generator, trials: int) -> Floats:
    return _stalls(rng, trials, per_s=10, mean_ms=1)


def frequent_stalls(rng: Generator, trials: int) -> Floats:
    return _stalls(rng, trials, per_s=30, mean_ms=2)


def rare_stalls(rng: Generator, trials: int) -> Floats:
    """Eight trials last a second together: one in seven times they see no stall at all."""
    return _stalls(rng, trials, per_s=2, mean_ms=8)


def _stalls(rng: Generator, trials: int, per_s: float, mean_ms: float) -> Floats:
    """A message each millisecond; those that are due in a stall wait for its end."""
    due, before = np.arange(MESSAGES), 50
    latencies = rng.lognormal(math.log(0.1), 0.3, (trials, MESSAGES))
    for values in latencies:
        for began in rng.uniform(-before, MESSAGES, rng.poisson(per_s * (MESSAGES + before) / 1000)):
            ended = began + rng.exponential(mean_ms)
            np.maximum(values, np.where((due >= began) & (due < ended), ended - due, 0), out=values)
    return latencies


def busy_unix(rng: Generator, trials: int) -> Floats:
    """Trials recorded on a guest of two cores on which other programs ran: eight wanted to run on average."""
    return _recorded_trials("unix")[rng.integers(0, len(_recorded_trials("unix")), trials)]


def busy_zeromq(rng: Generator, trials: int) -> Floats:
    return _recorded_trials("zeromq")[rng.integers(0, len(_recorded_trials("zeromq")), trials)]


@cache
def _recorded_trials(cell: str) -> Floats:
    """Return the recorded trials. The file has the slowest 20 % of all messages; the others count as 0."""
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
    """Return the true quantile of a setting."""
    if setting in (busy_unix, busy_zeromq):
        values = _recorded_trials("unix" if setting is busy_unix else "zeromq")
    else:
        values = setting(np.random.default_rng(7), 5000)
    return float(np.quantile(values, share, method="inverted_cdf"))


@dataclass(frozen=True)
class Rates:
    """Shares of the simulated runs."""

    too_high: float
    """The whole interval of p99 is above it: a run that just meets its limit is said to miss it."""
    too_low: float
    """The whole interval is below p99: a run that just misses its limit is said to meet it."""
    clear_met: float
    """A limit of ten times p99 is said to be met."""
    clear_missed: float
    """A limit that 5 % of the messages exceed is said to be missed."""

    @property
    def coverage(self) -> float:
        return 1 - self.too_high - self.too_low


@cache
def simulate(setting: Setting, rounds: int, seeds: int = 1000) -> Rates:
    """Judge p99 of simulated runs with fixed seeds."""
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
