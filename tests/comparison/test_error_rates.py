"""Test how often equal cells are wrongly called different, on recorded and on synthetic noise.

The noise in `tests/statistics/equal_cells.csv` comes from 12 equal cells over `unix` and 12 over `shm`, in 48 rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from hopmeter.comparison.between_runs import Level
from hopmeter.comparison.change import Change, Estimate, judge
from hopmeter.comparison.interleaved import estimate
from hopmeter.statistics import Observation, fit
from hopmeter.statistics.runs import compare_runs
from tests.report.rows import cell, run_of
from tests.statistics.noise_settings import recorded_trials

TABLES = 200
FALSE = {"much_slower", "slower", "faster", "much_faster"}
ROUNDS = 48
Floats = NDArray[np.float64]
Trial = tuple[float, float]
"""A trial's median in µs and its steal share."""


@cache
def recording(table: str) -> dict[str, list[Trial]]:
    """Return the recorded trials of each cell, by round."""
    logarithms, steal = recorded_trials(table)
    both = zip(np.exp(logarithms).tolist(), steal.tolist(), strict=True)
    return {str(cell): list(zip(*each, strict=True)) for cell, each in enumerate(both)}


def verdicts(estimates: Sequence[Estimate]) -> list[str]:
    run = run_of(*(cell(f"transport{at}", 1.0) for at in range(len(estimates))))
    made = [Change(row, "p50", None, None, each) for row, each in zip(run.rows, estimates, strict=True)]
    return [each.verdict for each in judge(made)]


def interleaved_verdicts(rng: Generator, table: str, pairs: int, rounds: int, ratio: float = 1.0) -> list[str]:
    """Return the verdicts on a table of equal cells; half of the cells are labelled old, and half new."""
    cells = recording(table)
    names = [str(name) for name in rng.permutation(list(cells))[: 2 * pairs]]
    first = int(rng.integers(ROUNDS - rounds + 1))
    factors = dict.fromkeys(names[:pairs], ratio)
    trials = [
        Observation(name, at, factors.get(name, 1.0) * median, steal)
        for name in names
        for at, (median, steal) in enumerate(cells[name][first : first + rounds])
    ]
    found = {frozenset((each.a, each.b)): each for each in fit(trials).pairs}
    both = zip(names[:pairs], names[pairs:], strict=True)
    estimates = [estimate(found[frozenset((new, old))], new) for new, old in both]
    return verdicts(estimates)


@pytest.mark.parametrize("table", ["unix", "shm"])
@pytest.mark.parametrize(("pairs", "rounds"), [(1, 8), (2, 12), (6, 8), (6, 12)])
def test_of_equal_tables_in_one_run_at_most_five_percent_have_a_false_verdict(
    table: str, pairs: int, rounds: int
) -> None:
    rng = np.random.default_rng([pairs, rounds])
    false = sum(bool(FALSE & set(interleaved_verdicts(rng, table, pairs, rounds))) for _ in range(TABLES))
    assert false <= 0.05 * TABLES


@pytest.mark.parametrize(("ratio", "least"), [(1.5, 0.7), (1 / 1.5, 0.7)])
def test_half_as_much_again_is_found_in_twelve_rounds_of_a_noisy_machine(ratio: float, least: float) -> None:
    rng = np.random.default_rng(5)
    found = [word for _ in range(40) for word in interleaved_verdicts(rng, "unix", 6, 12, ratio)]
    right = ("much_slower", "slower") if ratio > 1 else ("much_faster", "faster")
    assert sum(word in right for word in found) >= least * len(found)
    assert not (FALSE - set(right)) & set(found)


def levels(rng: Generator, table: str, rounds: int) -> tuple[Floats, Floats]:
    """Split a recording into runs, and return each cell's level and its variance; the axes are run and cell.

    The cells are equal, so they are shuffled in each run.
    """
    cells = recording(table)
    found = []
    for first in range(0, ROUNDS, rounds):
        names = [str(name) for name in rng.permutation(list(cells))]
        trials = [Observation(name, at, *cells[name][first + at]) for name in names for at in range(rounds)]
        own = fit(trials)
        found.append([Level.of(own.levels[name], own.rounds[name]) for name in names])
    values, variances = ([[getattr(each, name) for each in run] for run in found] for name in ("value", "variance"))
    return np.log(values), np.asarray(variances)


def against_baseline(values: Floats, within: Floats | None = None) -> list[str]:
    """Return the verdicts on the last run; the other runs are the baseline."""
    result = compare_runs(values[:-1], values[-1:], within)
    parts = (each.tolist() for each in (result.differences, result.errors, result.freedoms))
    return verdicts([Estimate(*each) for each in zip(*parts, strict=True)])


@pytest.mark.parametrize("table", ["unix", "shm"])
@pytest.mark.parametrize("rounds", [6, 8])
@pytest.mark.parametrize(("runs", "cells"), [(3, 1), (3, 6), (3, 12), (5, 12)])
def test_of_equal_tables_against_a_baseline_at_most_five_percent_have_a_false_verdict(
    table: str, rounds: int, runs: int, cells: int
) -> None:
    rng = np.random.default_rng([runs, cells])
    drawn = [levels(rng, table, rounds) for _ in range(10)]
    false = 0
    for number in range(TABLES):
        values, within = drawn[number % len(drawn)]
        chosen = np.ix_(rng.permutation(len(values))[: runs + 1], rng.permutation(12)[:cells])
        false += bool(FALSE & set(against_baseline(values[chosen], within[chosen])))
    assert false <= 0.05 * TABLES


@pytest.mark.parametrize("together", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("runs", "cells"), [(3, 1), (3, 4), (3, 12), (8, 12)])
def test_a_machine_that_drifts_by_a_known_amount_is_not_called_a_change(together: float, runs: int, cells: int) -> None:
    rng = np.random.default_rng([runs, cells])
    false, tables = 0, 1000
    for _ in range(tables):
        own = 0.1 * np.exp(rng.normal(0, 0.5, cells)) * rng.normal(size=(runs + 1, cells))
        values = own + together * rng.normal(size=(runs + 1, 1))
        false += bool(FALSE & set(against_baseline(values)))
    assert false <= 0.065 * tables


def test_a_change_that_is_larger_than_the_drift_is_found_against_a_baseline() -> None:
    rng = np.random.default_rng(2)
    values = 0.02 * rng.normal(size=(6, 12)) + 0.02 * rng.normal(size=(6, 1))
    values[-1, :3] += math.log(1.5)
    assert against_baseline(values)[:3] == ["much_slower"] * 3
