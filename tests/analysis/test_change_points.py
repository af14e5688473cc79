"""Tests for change points: a planned shift is found at the right run, and a constant series has no change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hopmeter.analysis.history.change_points import find_changes, least_length

Draw = Callable[[np.random.Generator, int], np.ndarray]
NOISE: dict[str, Draw] = {
    "normal": lambda random, count: random.normal(3, 0.03, count),
    "heavy tails": lambda random, count: 3 + 0.03 * random.standard_t(2, count),
    "two modes": lambda random, count: random.normal(3, 0.03, count) + 0.2 * (random.random(count) < 0.3),
    "equal values": lambda random, count: np.round(random.normal(3, 1, count)),
}
HISTORIES = 500
SERIES = 20


def indices(series: list[np.ndarray]) -> list[list[int]]:
    return [[change.index for change in changes] for changes in find_changes(series)]


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("count", [12, 40])
def test_at_most_5_percent_of_equal_histories_have_any_change(noise: str, count: int) -> None:
    random = np.random.default_rng(1000 + count)
    false = sum(any(indices([NOISE[noise](random, count) for _ in range(SERIES)])) for _ in range(HISTORIES))
    assert false <= 0.05 * HISTORIES


def test_series_that_move_together_are_not_more_often_wrong() -> None:
    random = np.random.default_rng(1)
    false = 0
    for _ in range(HISTORIES):
        common = random.normal(0, 1, 30)
        false += any(indices([common + 0.5 * random.normal(0, 1, 30) for _ in range(SERIES)]))
    assert false <= 0.05 * HISTORIES


@pytest.mark.parametrize(
    ("noise", "count", "at"),
    [
        *(("normal", 24, 12), ("normal", 40, 36), ("normal", 40, 37), ("normal", 60, 15)),
        *(("heavy tails", 24, 12), ("heavy tails", 60, 15), ("two modes", 40, 20), ("two modes", 60, 15)),
    ],
)
def test_a_planned_shift_is_found_within_one_run(noise: str, count: int, at: int) -> None:
    random = np.random.default_rng(at)
    hits, times = 0, 40
    for _ in range(times):
        series = [NOISE[noise](random, count) for _ in range(SERIES)]
        series[7][at:] += 0.4
        hits += any(abs(index - at) <= 1 for index in indices(series)[7])
    assert hits >= 0.9 * times


@pytest.mark.parametrize(("count", "distance"), [(16, 5), (16, 30), (40, 2), (40, 10)])
def test_a_steady_drift_is_no_change(count: int, distance: float) -> None:
    random, histories = np.random.default_rng(count), 10
    drift = np.linspace(0, distance, count)
    series = [[random.normal(0, 1, count) + drift for _ in range(SERIES)] for _ in range(histories)]
    wrong = sum(len(each) > 0 for history in series for each in indices(history))
    assert wrong <= 0.1 * histories * SERIES


def test_a_shift_on_top_of_a_drift_is_a_change() -> None:
    random, times = np.random.default_rng(6), 20
    hits = 0
    for _ in range(times):
        series = [random.normal(0, 1, 40) + np.linspace(0, 2, 40) for _ in range(SERIES)]
        series[7][20:] += 6
        hits += any(abs(index - 20) <= 1 for index in indices(series)[7])
    assert hits >= 0.9 * times


def test_a_staircase_has_all_its_steps() -> None:
    random = np.random.default_rng(3)
    series = [random.normal(3, 0.03, 60) for _ in range(5)]
    for step in (15, 30, 45):
        series[2][step:] += 0.3
    assert indices(series)[2] == [15, 30, 45]


def test_a_level_that_comes_back_has_two_changes() -> None:
    random = np.random.default_rng(3)
    series = [random.normal(3, 0.03, 60) for _ in range(5)]
    series[2][20:40] += 0.3
    assert indices(series)[2] == [20, 40]


def test_several_series_that_change_at_one_run_are_found_with_fewer_runs() -> None:
    random = np.random.default_rng(3)
    series = [random.normal(3, 0.03, 10) for _ in range(SERIES)]
    for values in series:
        values[5:] += 0.5
    assert indices(series) == [[5]] * SERIES
    assert least_length(SERIES) > 10


def test_changes_do_not_depend_on_scale_or_on_one_outlier() -> None:
    random = np.random.default_rng(5)
    values = random.normal(3, 0.03, 40)
    values[20:] += 0.3
    outlier = values.copy()
    outlier[10] = 1e9
    assert indices([values]) == indices([1000 * values]) == indices([outlier]) == [[20]]


@pytest.mark.parametrize("series", [[], [[]], [[1.0]], [[1.0] * 5], [[2.0] * 50], [[1.0, 2.0, 3.0, 4.0, 5.0]]])
def test_short_and_constant_series_have_no_change(series: list[list[float]]) -> None:
    assert find_changes(series) == [[] for _ in series]


@pytest.mark.parametrize("place", [0, 20, 38, 39])
def test_one_odd_run_is_no_level(place: int) -> None:
    values = np.random.default_rng(2).normal(3, 0.03, 40)
    values[place] += 3
    assert indices([values]) == [[]]


def test_the_same_series_give_the_same_result() -> None:
    random = np.random.default_rng(9)
    series = [random.normal(0, 1, 30) + (np.arange(30) > 14) for _ in range(4)]
    assert find_changes(series) == find_changes(series)


@pytest.mark.parametrize("count", [1, 10, 100])
def test_a_clear_change_is_found_from_about_the_least_length_on(count: int) -> None:
    random = np.random.default_rng(4)
    for length, expected in ((least_length(count) - 2, False), (least_length(count) + 1, True)):
        series = [np.full(length, 1.0) for _ in range(count - 1)]
        clear = random.normal(0, 0.01, length) + (np.arange(length) >= length // 2)
        assert bool(indices([*series, clear])[-1]) is expected
