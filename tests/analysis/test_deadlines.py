"""Tests for missed deadlines: which messages missed, how many in a row, and the interval of the missed share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from hopmeter.analysis.latency.deadlines import MissedCount, count_missed, find_missed, missed_columns, missed_interval
from hopmeter.store.samples import NONE_NS

MS = 1_000_000
SIMULATIONS = 600
LEAST_COVERAGE = 0.93


def test_a_message_that_is_late_or_never_arrives_has_missed() -> None:
    due = np.arange(5) * 10 * MS
    done = np.array([due[0] + 2 * MS, due[1] + 2 * MS + 1, NONE_NS, due[3] + 1 * MS, due[4] + 9 * MS])
    assert find_missed(due, done, 0.002).tolist() == [False, True, True, False, True]


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ("", MissedCount(0, 0, 0)),
        ("....", MissedCount(4, 0, 0)),
        ("xxxx", MissedCount(4, 4, 4)),
        ("x.xx.x", MissedCount(6, 4, 2)),
        ("..xxx", MissedCount(5, 3, 3)),
    ],
)
def test_misses_and_their_longest_run_are_counted(late: str, expected: MissedCount) -> None:
    assert count_missed(np.array([each == "x" for each in late], bool)) == expected


def test_the_columns_sum_the_trials() -> None:
    columns = missed_columns(
        0.005, [MissedCount(100, 3, 2), MissedCount(100, 0, 0), MissedCount(100, 9, 5), MissedCount(100, 0, 0)]
    )
    assert (columns["deadline_us"], columns["missed"], columns["missed_share"], columns["missed_in_a_row"]) == (
        5000,
        12,
        0.03,
        5,
    )
    assert columns["missed_share_low"] < 0.03 < columns["missed_share_high"]


def test_without_a_trial_there_are_no_columns() -> None:
    assert missed_columns(None, []) == {}
    assert missed_columns(0.1, []) == {}


def test_few_messages_or_trials_have_no_interval() -> None:
    assert missed_interval([MissedCount(1000, 10, 1)]) == (None, None)
    assert missed_interval([MissedCount(5, 1, 1)] * 5) == (None, None)


def test_no_miss_is_bounded_by_the_number_of_messages() -> None:
    low, high = missed_interval([MissedCount(100, 0, 0)] * 5)
    assert low == 0
    worth = 500 * (ndtri(0.025) / stdtrit(4, 0.025)) ** 2
    assert high == pytest.approx(1 - 0.025 ** (1 / worth)), "five trials show little of how misses come together"
    assert missed_interval([MissedCount(100, 100, 100)] * 5)[1] == 1


def test_misses_that_come_together_widen_the_interval() -> None:
    even = missed_interval([MissedCount(200, 10, 1)] * 8)
    uneven = missed_interval([MissedCount(200, 40, 40), MissedCount(200, 40, 40), *[MissedCount(200, 0, 0)] * 6])
    assert even[0] is not None and even[1] is not None and uneven[0] is not None and uneven[1] is not None
    assert uneven[0] < even[0] and uneven[1] > 1.5 * even[1]


Trial = Callable[[np.random.Generator], MissedCount]
SHARE = 0.05


def independent(rng: np.random.Generator) -> MissedCount:
    return count_missed(rng.random(300) < SHARE)


def in_bursts(rng: np.random.Generator) -> MissedCount:
    """Misses that come in bursts of ten."""
    starts = rng.random(310) < -np.log1p(-SHARE) / 10
    late = np.convolve(starts, np.ones(10))[9:309] > 0
    return count_missed(late)


def levels_differ(rng: np.random.Generator) -> MissedCount:
    """Misses whose share varies by half between trials."""
    return count_missed(rng.random(300) < SHARE * rng.gamma(4, 1 / 4))


@pytest.mark.parametrize("trial", [independent, in_bursts, levels_differ], ids=lambda each: each.__name__)
@pytest.mark.parametrize("trials", [5, 12])
def test_the_interval_contains_the_share(trial: Trial, trials: int) -> None:
    rng = np.random.default_rng(7)
    truth = np.mean([trial(rng).missed for _ in range(4000)]) / 300
    found = [missed_interval([trial(rng) for _ in range(trials)]) for _ in range(SIMULATIONS)]
    inside = [low is not None and high is not None and low <= truth <= high for low, high in found]
    assert np.mean(inside) >= LEAST_COVERAGE


def test_five_trials_without_a_miss_allow_for_a_burst_that_half_of_such_runs_do_not_have() -> None:
    rng, truth = np.random.default_rng(7), 10 / 300 / 8
    found = [
        missed_interval([MissedCount(300, 10 * (rng.random() < 1 / 8), 0) for _ in range(5)])
        for _ in range(SIMULATIONS)
    ]
    inside = [low is not None and high is not None and low <= truth <= high for low, high in found]
    assert np.mean(inside) >= LEAST_COVERAGE


def test_a_whole_workload_has_the_misses_of_its_flows_and_no_deadline_of_its_own() -> None:
    both = MissedCount(100, 3, 2) + MissedCount(50, 7, 5)
    assert both == MissedCount(150, 10, 5), "messages one after the other that missed are of one flow"
    found = missed_columns(None, [both])
    assert (found["deadline_us"], found["missed"], found["missed_share"]) == (None, 10, pytest.approx(10 / 150))


def test_the_interval_of_a_look_is_wider() -> None:
    trials = [MissedCount(500, each, 1) for each in (10, 12, 8, 11, 9)]
    (low, high), (wider_low, wider_high) = missed_interval(trials), missed_interval(trials, 0.01)
    assert None not in (low, high, wider_low, wider_high)
    assert wider_low < low < 0.02 < high < wider_high  # type: ignore[operator]
