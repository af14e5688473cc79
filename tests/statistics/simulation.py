"""How often the ranking decides wrongly, and how often rightly: `python -m tests.statistics.simulation`.

Prints the tables of error rates and power that docs/method.md shows.

Every number belongs to the whole stopping rule: looks at the rounds of `look_rounds`, levels of `spend`, cells stop
once all their pairs are decided, and a wrong decision at any look counts.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hopmeter.statistics import Observation, fit
from hopmeter.statistics.levels import level_intervals
from hopmeter.statistics.looks import LEAST_ROUNDS_FOR_WIDTH, WIDTH_ALLOWANCE, look_rounds, spend
from hopmeter.statistics.noise_model import fit_noise
from hopmeter.statistics.pair_tests import all_pairs_divisors, best_divisors, compare_cells, step_down

Floats = NDArray[np.float64]
Trials = tuple[Floats, Floats]
"""Logarithms of trials, and their steal shares, with the axes table, cell, round."""
Shape = tuple[int, int, int]
GROUPS = (2, 3, 5, 15)
FITS = (5, 8, 12, 24)
RATIOS = (1.2, 1.3, 1.5, 2.0)


def equal_variances(rng: Generator, shape: Shape) -> Trials:
    return 0.2 * rng.normal(size=shape), np.zeros(shape)


def unequal_variances(rng: Generator, shape: Shape) -> Trials:
    """Standard deviations of cells from 3 to 60 %."""
    tables, cells, _ = shape
    deviations = np.exp(rng.uniform(math.log(0.03), math.log(0.6), (tables, cells, 1)))
    return deviations * rng.normal(size=shape), np.zeros(shape)


def quiet_and_noisy(rng: Generator, shape: Shape) -> Trials:
    """Of ten cells three are 17 times as noisy as the others."""
    tables, cells, _ = shape
    deviations = np.where(rng.random((tables, cells, 1)) < 0.3, 0.5, 0.03)
    return deviations * rng.normal(size=shape), np.zeros(shape)


def two_modes(rng: Generator, shape: Shape) -> Trials:
    """Of ten trials three take three times as long."""
    return 0.1 * rng.normal(size=shape) + math.log(3) * (rng.random(shape) < 0.3), np.zeros(shape)


def drift(rng: Generator, shape: Shape) -> Trials:
    """The machine becomes 80 % slower during the run, also within a round, whose order is random."""
    place = np.argsort(rng.random(shape), axis=1) / shape[1]
    return 0.1 * rng.normal(size=shape) + 0.6 * (np.arange(shape[2]) + place) / shape[2], np.zeros(shape)


def heavy_tails(rng: Generator, shape: Shape) -> Trials:
    """Student's t with two degrees of freedom."""
    return 0.15 * rng.standard_t(2, shape), np.zeros(shape)


def stolen_outliers(rng: Generator, shape: Shape) -> Trials:
    """Of 20 trials three lose 40 to 65 % of the cores and take 2.5 to 6 times as long; the others lose 6 %."""
    stolen = rng.random(shape) < 0.15
    steal = np.where(stolen, rng.uniform(0.4, 0.65, shape), rng.beta(1, 15, shape))
    noise = 0.1 * rng.normal(size=shape) * np.sqrt(1 + 100 * np.where(stolen, 0, steal) ** 2)
    return noise + np.where(stolen, rng.uniform(math.log(2.5), math.log(6), shape), 0), steal


def unseen_outliers(rng: Generator, shape: Shape) -> Trials:
    """Of ten trials one takes 2.5 to 6 times as long, and no steal shows it."""
    late = rng.random(shape) < 0.1
    return 0.1 * rng.normal(size=shape) + np.where(late, rng.uniform(math.log(2.5), math.log(6), shape), 0), np.zeros(
        shape
    )


@lru_cache
def recorded_trials(table: str, file: str = "equal_cells") -> Trials:
    """Return recorded trials of one table; the axes are cell and round."""
    with (Path(__file__).parent / f"{file}.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["table"] == table]
    cells = sorted({row["cell"] for row in rows})
    shape = len(cells), 1 + max(int(row["round"]) for row in rows)
    values, steal = np.full(shape, np.nan), np.zeros(shape)
    for row in rows:
        place = cells.index(row["cell"]), int(row["round"])
        values[place], steal[place] = math.log(float(row["p50_us"])), float(row["steal"])
    return values, steal


def resample(table: str, rng: Generator, shape: Shape) -> Trials:
    """Draw rounds of equal cells, and give the trials of each round to the cells by chance: then they are equal."""
    values, steal = recorded_trials(table)
    tables, cells, rounds = shape
    columns = np.argsort(rng.random((tables, 1, values.shape[1])), axis=2)[:, :, :rounds]
    rows = np.argsort(rng.random((tables, len(values), rounds)), axis=1)[:, :cells]
    return values[rows, columns], steal[rows, columns]


def unix(rng: Generator, shape: Shape) -> Trials:
    return resample("unix", rng, shape)


def shm(rng: Generator, shape: Shape) -> Trials:
    return resample("shm", rng, shape)


Setting = Callable[[Generator, Shape], Trials]
HOSTILE: tuple[Setting, ...] = (
    equal_variances,
    unequal_variances,
    quiet_and_noisy,
    two_modes,
    drift,
    heavy_tails,
    stolen_outliers,
    unseen_outliers,
)
RECORDED: tuple[Setting, ...] = (unix, shm)


def draw(setting: Setting, shape: Shape, seed: int, levels: Sequence[float] = ()) -> Trials:
    """Draw tables with a random effect of each round; `levels` are what the cells cost, otherwise all are equal."""
    rng = np.random.default_rng([seed, *shape])
    values, steal = setting(rng, shape)
    rounds = rng.normal(0, 0.15, (shape[0], 1, shape[2]))
    own = np.log(levels) if len(levels) else np.zeros(shape[1])
    return values + rounds + own[:, None], steal


def decide(
    trials: Trials, alpha: float = 0.05, known: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which pairs are decided, and their differences."""
    values, steal = trials
    present = np.ones(values.shape, bool) if known is None else known
    centred = values - np.median(values, axis=(1, 2), keepdims=True)
    tests = compare_cells(fit_noise(centred, steal, present), steal, centred)
    decided, _ = step_down(tests.p_values(), all_pairs_divisors(values.shape[1]), alpha)
    return decided, tests.differences


def best_is_wrong(setting: Setting, cells: int, rounds: int, tables: int = 1000) -> float:
    """Return the share of tables of equal cells in which the best one, chosen from the data, beats any other."""
    values, steal = draw(setting, (tables, cells, rounds), 5)
    model = fit_noise(values, steal, np.ones(values.shape, bool))
    tests = compare_cells(model, steal, values)
    best = model.effects.cells.argmin(axis=1)[:, None]
    own = (tests.first == best) | (tests.second == best)
    p_values = tests.p_values()[own].reshape(tables, cells - 1)
    return float(step_down(p_values, best_divisors(cells), 0.05)[0].any(axis=1).mean())


def interval_coverage(setting: Setting, levels: Sequence[float], rounds: int, tables: int = 200) -> float:
    """Return the share of tables whose intervals all contain the true ratio."""
    values, steal = (np.exp(each) for each in draw(setting, (tables, len(levels), rounds), 6, levels))
    covered = 0
    for table in range(tables):
        ranking = fit(
            Observation(str(cell), at, values[table, cell, at], math.log(steal[table, cell, at]))
            for cell in range(len(levels))
            for at in range(rounds)
        )
        covered += all(
            pair.low <= levels[int(pair.b)] / levels[int(pair.a)] <= pair.high
            for pair in ranking.pairs
            if pair.low is not None and pair.high is not None
        )
    return covered / tables


def follow_rule(trials: Trials) -> Floats:
    """Return -1 or 1 for each pair decided by the whole stopping rule, by the sign of first minus second; 0 if open."""
    values, steal = trials
    tables, cells, rounds = values.shape
    first, second = np.triu_indices(cells, 1)
    signs, spent = np.zeros((tables, len(first))), 0.0
    known = np.ones(values.shape, bool)
    for look in look_rounds(rounds):
        alpha = spend(look / rounds, spent)
        spent += alpha
        decided, differences = decide((values[..., :look], steal[..., :look]), alpha, known[..., :look])
        signs = np.where((signs == 0) & decided, np.sign(differences), signs)
        known[..., look:] = ~finished_cells(signs, first, second, cells)[:, :, None]
    return signs


def finished_cells(signs: Floats, first: NDArray[np.intp], second: NDArray[np.intp], cells: int) -> NDArray[np.bool_]:
    """Return the cells all of whose pairs are decided; the best one goes on."""
    own = np.stack([(first == cell) | (second == cell) for cell in range(cells)])
    done = ((signs != 0)[:, None, :] | ~own).all(axis=2)
    best = np.stack([signs[:, second == cell].sum(1) - signs[:, first == cell].sum(1) for cell in range(cells)]).argmax(
        0
    )
    done[np.arange(len(done)), best] = False
    return done


def false_tables(setting: Setting, cells: int, rounds: int, tables: int = 1000, seed: int = 1) -> float:
    """Return the share of tables of equal cells with any decided pair."""
    return float((follow_rule(draw(setting, (tables, cells, rounds), seed)) != 0).any(axis=1).mean())


def wrong_tables(setting: Setting, levels: Sequence[float], rounds: int, tables: int = 1000, seed: int = 1) -> float:
    """Return the share of tables with a decided pair of equal cells, or one decided the wrong way."""
    signs = follow_rule(draw(setting, (tables, len(levels), rounds), seed, levels))
    first, second = np.triu_indices(len(levels), 1)
    truth = np.sign(np.round(np.log(levels)[first] - np.log(levels)[second], 9))
    return float(((signs != 0) & (signs != truth)).any(axis=1).mean())


def power(setting: Setting, ratio: float, rounds: int, whole_rule: bool = True, tables: int = 300) -> float:
    """Return the share of decided pairs that differ by a ratio: six cells against six."""
    levels = [1.0] * 6 + [ratio] * 6
    trials = draw(setting, (tables, 12, rounds), 3, levels)
    signs = follow_rule(trials) if whole_rule else np.where(decide(trials)[0], -1, 0)
    first, second = np.triu_indices(12, 1)
    return float((signs[:, (first < 6) & (second >= 6)] == -1).mean())


def precise_coverage(setting: Setting, within: float, rounds_that_fit: int, tables: int = 1000) -> tuple[float, float]:
    """Stop at the first look that gives a level to a share; return coverage at the end, and how many tables stop early.

    The true level is 0, so the setting has to be symmetric.
    """
    values, steal = draw(setting, (tables, 3, rounds_that_fit), 4)
    covered, stopped = np.zeros(tables, bool), np.zeros(tables, bool)
    for rounds in look_rounds(rounds_that_fit):
        part = values[..., :rounds]
        model = fit_noise(part, steal[..., :rounds], np.ones(part.shape, bool))
        levels, half = (each[:, 0] for each in level_intervals(model, 0.05))
        enough = (WIDTH_ALLOWANCE * np.expm1(half) <= within) & (rounds >= LEAST_ROUNDS_FOR_WIDTH)
        covered = np.where(stopped, covered, np.abs(levels) <= half)
        stopped |= enough & (rounds < rounds_that_fit)
    return float(covered.mean()), float(stopped.mean())


def print_errors(tables: int = 1000) -> None:
    """Print the table of error rates."""
    print("| noise |", " | ".join(f"{cells} cells" for cells in GROUPS), "|\n|---|" + "---|" * len(GROUPS))
    for setting in HOSTILE + RECORDED:
        most = 12 if setting in RECORDED else 15
        rates = [[100 * false_tables(setting, min(cells, most), fit, tables) for fit in FITS] for cells in GROUPS]
        row = " | ".join(", ".join(f"{rate:.1f}" for rate in each) for each in rates)
        print(f"| {setting.__name__.replace('_', ' ')} | {row} |", flush=True)


def print_power() -> None:
    """Print the table of power, with the whole stopping rule and with one look at the end."""
    print("| noise | rounds |", " | ".join(f"ratio {ratio}" for ratio in RATIOS), "|\n|---|---|" + "---|" * len(RATIOS))
    for setting in RECORDED:
        for rounds in FITS:
            pairs = [
                (power(setting, ratio, rounds), power(setting, ratio, rounds, whole_rule=False)) for ratio in RATIOS
            ]
            print(
                f"| {setting.__name__} | {rounds} |",
                " | ".join(f"{a:.2f} ({b:.2f})" for a, b in pairs),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    print_errors()
    print()
    print_power()
