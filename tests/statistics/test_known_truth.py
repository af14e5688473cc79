"""Under the complete stopping rule, equal cells are rarely called different, and different cells often are."""

import math

import numpy as np
import pytest

from hopmeter.statistics import Observation, fit
from tests.statistics.noise_settings import (
    HOSTILE,
    RECORDED,
    Setting,
    draw,
    equal_variances,
    heavy_tails,
    quiet_and_noisy,
    recorded_trials,
    unequal_variances,
)
from tests.statistics.simulation import (
    FITS,
    GROUPS,
    MADE_LEVELS,
    SPLITS,
    best_is_wrong,
    decide_once,
    false_families,
    false_tables,
    interval_coverage,
    missed_intervals,
    power,
    precise_coverage,
    wrong_tables,
)

MOST_FALSE = 0.065
hostile = pytest.mark.parametrize("setting", HOSTILE, ids=lambda each: each.__name__)
noisy = pytest.mark.parametrize("setting", RECORDED, ids=lambda each: each.__name__)


@hostile
@pytest.mark.parametrize("cells", [2, 5])
def test_equal_cells_are_rarely_called_different(setting: Setting, cells: int) -> None:
    assert false_tables(setting, cells, 8) <= MOST_FALSE


@pytest.mark.nightly
@hostile
@pytest.mark.parametrize("cells", GROUPS)
@pytest.mark.parametrize("rounds", FITS)
def test_equal_cells_are_rarely_called_different_whatever_the_rounds(setting: Setting, cells: int, rounds: int) -> None:
    assert false_tables(setting, cells, rounds) <= MOST_FALSE


@hostile
def test_choices_and_references_are_rarely_called_different(setting: Setting) -> None:
    assert max(false_families(setting, 5, 3, 8)) <= MOST_FALSE


@pytest.mark.nightly
@hostile
@pytest.mark.parametrize(("choices", "references"), SPLITS)
@pytest.mark.parametrize("rounds", FITS)
def test_choices_and_references_are_rarely_called_different_whatever_the_rounds(
    setting: Setting, choices: int, references: int, rounds: int
) -> None:
    assert max(false_families(setting, choices, references, rounds)) <= MOST_FALSE


def test_intervals_of_pairs_that_stopped_early_hold() -> None:
    assert missed_intervals(quiet_and_noisy, MADE_LEVELS["5 cells, 10 % apart"], 12) <= MOST_FALSE


@pytest.mark.nightly
@hostile
@pytest.mark.parametrize("levels", MADE_LEVELS.values(), ids=MADE_LEVELS)
@pytest.mark.parametrize("rounds", FITS)
def test_intervals_hold_whatever_the_rounds(setting: Setting, levels: list[float], rounds: int) -> None:
    assert missed_intervals(setting, levels, rounds) <= MOST_FALSE


def test_references_take_nothing_from_the_choices() -> None:
    """Three of six choices take 1.5 times as long as the others, and so do three of six references."""
    with_references = power(RECORDED[0], 1.5, 8, tables=100, references=6)
    assert with_references > power(RECORDED[0], 1.5, 8, tables=100) + 0.1


@pytest.mark.nightly
@hostile
@pytest.mark.parametrize("cells", GROUPS)
@pytest.mark.parametrize("rounds", [3, 5, 8, 12, 24])
def test_one_look_at_the_end_is_rarely_wrong(setting: Setting, cells: int, rounds: int) -> None:
    assert decide_once(draw(setting, (1000, cells, rounds), 2)).any(axis=1).mean() <= MOST_FALSE


@pytest.mark.nightly
@hostile
@pytest.mark.parametrize("rounds", FITS)
@pytest.mark.parametrize(
    "levels",
    [[1, 1, 2], [1, 1, 2, 2, 2], [1.0] * 7 + [3.0] * 8, [1.5 ** (at // 3) for at in range(15)]],
    ids=["2+1", "2+3", "7+8", "five of 3"],
)
def test_equal_cells_among_others_are_rarely_called_different(
    setting: Setting, levels: list[float], rounds: int
) -> None:
    assert wrong_tables(setting, levels, rounds) <= MOST_FALSE


@pytest.mark.nightly
@hostile
@pytest.mark.parametrize("cells", GROUPS)
@pytest.mark.parametrize("rounds", [5, 12])
def test_the_best_of_equal_cells_is_rarely_called_better(setting: Setting, cells: int, rounds: int) -> None:
    assert best_is_wrong(setting, cells, rounds) <= MOST_FALSE


@pytest.mark.parametrize(
    ("setting", "tables"),
    [
        (unequal_variances, 100),
        *(pytest.param(each, 1000, marks=pytest.mark.nightly) for each in HOSTILE),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_all_intervals_of_a_table_hold_at_once(setting: Setting, tables: int) -> None:
    assert interval_coverage(setting, [1.3**each for each in range(6)], 8, tables) >= 0.935


@noisy
@pytest.mark.parametrize("cells", [2, 12])
def test_recorded_noise_is_no_difference(setting: Setting, cells: int) -> None:
    assert false_tables(setting, cells, 12, tables=300) <= 0.05


@noisy
def test_consecutive_rounds_of_equal_cells_show_few_differences(setting: Setting) -> None:
    values, steal = recorded_trials(setting.__name__)
    found = []
    for rounds in (5, 8, 12):
        for start in range(0, 49 - rounds, rounds // 2):
            part = values[None, :, start : start + rounds], steal[None, :, start : start + rounds]
            found.append(decide_once(part).any())
    assert len(found) == 40
    assert sum(found) <= 2


@noisy
def test_ratios_are_found_in_recorded_noise_and_more_rounds_find_more(setting: Setting) -> None:
    found = [power(setting, 1.5, rounds, tables=100) for rounds in FITS]
    assert found[FITS.index(12)] >= 0.85
    assert found == sorted(found)


@pytest.mark.parametrize(("table", "rounds", "least"), [("timing", 5, 0.85), ("timing", 12, 0.95), ("image", 12, 0.8)])
def test_a_recorded_quick_look_is_decided(table: str, rounds: int, least: float) -> None:
    """The test counts pairs whose medians over all 12 rounds differ at least by a factor of 1.5."""
    values, steal = recorded_trials(table, "quick_look")
    rows = [
        Observation(str(cell), at, math.exp(values[cell, at]), steal[cell, at])
        for cell in range(len(values))
        for at in range(rounds)
    ]
    medians = np.median(values, axis=1)
    apart = {pair: medians[int(pair.b)] - medians[int(pair.a)] for pair in fit(rows).pairs}
    clear = [pair.decided for pair, distance in apart.items() if distance >= math.log(1.5)]
    assert np.mean(clear) >= least
    assert not any(pair.decided for pair, distance in apart.items() if distance <= -math.log(1.5))


@pytest.mark.parametrize("setting", [equal_variances, unequal_variances, heavy_tails], ids=lambda each: each.__name__)
@pytest.mark.parametrize("within", [0.1, 0.2])
def test_a_level_that_is_precise_enough_contains_the_truth(setting: Setting, within: float) -> None:
    coverage, _ = precise_coverage(setting, within, 24)
    assert coverage >= 0.93
