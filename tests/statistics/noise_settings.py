"""Noise models for trials: adverse models, and recorded trials of equal cells from a two-core VM."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hopmeter.statistics import is_beyond_use

Floats = NDArray[np.float64]
Trials = tuple[Floats, Floats]
"""Log medians of trials and their steal shares; the axes are table, cell and round."""
Shape = tuple[int, int, int]


def equal_variances(rng: Generator, shape: Shape) -> Trials:
    return 0.2 * rng.normal(size=shape), np.zeros(shape)


def unequal_variances(rng: Generator, shape: Shape) -> Trials:
    """The cells' standard deviations range from 3 to 60 %."""
    tables, cells, _ = shape
    deviations = np.exp(rng.uniform(math.log(0.03), math.log(0.6), (tables, cells, 1)))
    return deviations * rng.normal(size=shape), np.zeros(shape)


def quiet_and_noisy(rng: Generator, shape: Shape) -> Trials:
    """Three of ten cells are 17 times noisier than the other cells."""
    tables, cells, _ = shape
    deviations = np.where(rng.random((tables, cells, 1)) < 0.3, 0.5, 0.03)
    return deviations * rng.normal(size=shape), np.zeros(shape)


def two_modes(rng: Generator, shape: Shape) -> Trials:
    """Three of ten trials take three times as long."""
    return 0.1 * rng.normal(size=shape) + math.log(3) * (rng.random(shape) < 0.3), np.zeros(shape)


def drift(rng: Generator, shape: Shape) -> Trials:
    """The machine becomes 80 % slower during the run, also within a round, whose order is random."""
    place = np.argsort(rng.random(shape), axis=1) / shape[1]
    return 0.1 * rng.normal(size=shape) + 0.6 * (np.arange(shape[2]) + place) / shape[2], np.zeros(shape)


def heavy_tails(rng: Generator, shape: Shape) -> Trials:
    """Student's t-distribution with two degrees of freedom."""
    return 0.15 * rng.standard_t(2, shape), np.zeros(shape)


def stolen_outliers(rng: Generator, shape: Shape) -> Trials:
    """Three of 20 trials lose 40 to 65 % of the CPU to steal and take 2.5 to 6 times as long; the others lose 6 %."""
    stolen = rng.random(shape) < 0.15
    steal = np.where(stolen, rng.uniform(0.4, 0.65, shape), rng.beta(1, 15, shape))
    noise = 0.1 * rng.normal(size=shape) * np.sqrt(1 + 100 * np.where(stolen, 0, steal) ** 2)
    return noise + np.where(stolen, rng.uniform(math.log(2.5), math.log(6), shape), 0), steal


def stolen_and_repeated(rng: Generator, shape: Shape) -> Trials:
    """The noise of `stolen_outliers`, but unusable trials are repeated once."""
    (first, stolen), (second, stolen_again) = (stolen_outliers(rng, shape) for _ in range(2))
    is_repeated = np.vectorize(is_beyond_use)(stolen, np.median(stolen))
    return np.where(is_repeated, second, first), np.where(is_repeated, stolen_again, stolen)


def unseen_outliers(rng: Generator, shape: Shape) -> Trials:
    """One of ten trials takes 2.5 to 6 times as long, without visible steal."""
    late = rng.random(shape) < 0.1
    return 0.1 * rng.normal(size=shape) + np.where(late, rng.uniform(math.log(2.5), math.log(6), shape), 0), np.zeros(
        shape
    )


@lru_cache
def recorded_trials(table: str, file: str = "equal_cells") -> Trials:
    """Return the recorded trials of one table with the axes cell and round. Each line of the file contains a cell's
    rounds."""
    lines = [line.split(",") for line in (Path(__file__).parent / f"{file}.csv").read_text().splitlines()]
    medians, steal = (
        np.array([values for of, _, name, *values in lines if (of, name) == (table, each)], float)
        for each in ("p50_us", "steal")
    )
    return np.log(medians), steal


def resample(table: str, rng: Generator, shape: Shape) -> Trials:
    """Draw rounds of equal cells from recorded rounds. Each round's trials are shuffled among the cells, so that the
    cells are equal."""
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
    stolen_and_repeated,
    unseen_outliers,
)
RECORDED: tuple[Setting, ...] = (unix, shm)


def draw(setting: Setting, shape: Shape, seed: int, levels: Sequence[float] = ()) -> Trials:
    """Draw tables with a random effect per round; `levels` are the true levels of the cells, equal by default."""
    rng = np.random.default_rng([seed, *shape])
    values, steal = setting(rng, shape)
    rounds = rng.normal(0, 0.15, (shape[0], 1, shape[2]))
    own = np.log(levels) if len(levels) else np.zeros(shape[1])
    return values + rounds + own[:, None], steal
