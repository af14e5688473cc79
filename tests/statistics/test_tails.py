"""Tests for the p99 interval of trials that are each too short to resolve a p99."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hopmeter.statistics.shares.late_shares import late_share_interval, share_interval
from hopmeter.statistics.shares.tails import Tail, count_late
from tests.statistics.tail_simulation import (
    ROUNDS,
    SETTINGS,
    Setting,
    independent,
    levels_differ,
    quantile,
    rare_stalls,
    simulate,
)

LEAST = 0.93
MOST_WRONG = 0.05
COVERED = [each for each in SETTINGS if each is not rare_stalls]
settings = pytest.mark.parametrize("setting", COVERED, ids=lambda each: each.__name__)


@pytest.mark.rest
@settings
def test_a_quick_look_covers_p99_and_rarely_judges_wrongly(setting: Setting) -> None:
    found = simulate(setting, 8, 300)
    assert found.coverage >= LEAST
    assert max(found.too_high, found.too_low) <= MOST_WRONG


@pytest.mark.nightly
@settings
@pytest.mark.parametrize("rounds", ROUNDS)
def test_p99_is_covered_and_rarely_judged_wrongly_whatever_the_rounds(setting: Setting, rounds: int) -> None:
    found = simulate(setting, rounds)
    assert found.coverage >= LEAST
    assert max(found.too_high, found.too_low) <= MOST_WRONG


def test_stalls_rarer_than_the_run_is_long_are_its_limit() -> None:
    """If stalls occur twice a second, one second of messages may contain no stall; docs/method.md states the resulting
    coverage."""
    assert 0.65 <= simulate(rare_stalls, 8, 300).coverage < LEAST
    assert simulate(rare_stalls, 24, 300).coverage >= 0.9


@pytest.mark.rest
@pytest.mark.parametrize(("setting", "rounds", "least"), [(independent, 8, 0.85), (levels_differ, 12, 0.7)])
def test_a_clear_limit_is_met_or_missed(setting: Setting, rounds: int, least: float) -> None:
    found = simulate(setting, rounds, 300)
    assert found.clear_met >= least and found.clear_missed >= 0.9


def test_the_truth_is_true() -> None:
    assert quantile(independent, 0.99) == pytest.approx(math.exp(0.5 * 2.3263), rel=0.01)


def tail(*late: int, lost: int = 0, messages: int = 125) -> Tail:
    """Return the tail of trials in which the given number of messages take 900 and all other messages take 50."""
    trials = [np.array([900] * many + [50] * (messages - many - lost)) for many in late]
    return count_late(trials, [lost] * len(trials), 0.01)


def test_equal_samples_have_an_interval_of_one_point() -> None:
    assert tail(*[0] * 12).bounds(0.05) == (50, 50)
    assert tail(*[10] * 12).bounds(0.05) == (900, 900)


def test_late_messages_of_one_trial_count_less_than_those_of_all() -> None:
    assert tail(*[4] * 12).bounds(0.05)[0] == 900
    assert tail(48, *[0] * 11).bounds(0.05)[0] == 50


def test_lost_messages_are_later_than_any_threshold() -> None:
    assert tail(*[0] * 12, lost=5).bounds(0.05) == (math.inf, math.inf)
    low, high = tail(*[0] * 12, lost=1).bounds(0.05)
    assert (low, high) == (50, math.inf)


def test_the_trials_that_are_needed_decide() -> None:
    assert 50 < tail(*[0] * 5).bounds(0.05)[1] < math.inf
    needed = tail(*[0] * 5).trials_needed(51, 0.05)
    assert needed is not None and 5 < needed <= 12
    assert tail(*[0] * needed).bounds(0.05)[1] < 51
    assert tail(*[0] * needed).trials_needed(51, 0.05) == needed
    assert tail(*[0] * 5).trials_needed(5000, 0.05) == 5


def test_dispersed_trials_need_more() -> None:
    assert (tail(12, *[0] * 9).trials_needed(901, 0.05) or 0) > 3 * (tail(*[1] * 10).trials_needed(901, 0.05) or 0)


def test_beyond_all_messages_a_latency_twice_as_long_is_half_as_frequent() -> None:
    for count in (3, 5):
        worst = tail(*[0] * count)
        _, high = share_interval(worst.late[:, 0].sum(), worst.counts.sum(), worst.dispersion, 0.05)
        assert worst.bounds(0.05)[1] == pytest.approx(50 * high[0] / 0.01)


def test_bursts_widen_the_share_of_lost_messages() -> None:
    spread, burst = (late_share_interval(lost, [100] * 20, 0.05) for lost in ([1] * 20, [20] + [0] * 19))
    assert spread[0] < 0.01 < spread[1] and burst[0] < spread[0] and burst[1] > 2 * spread[1]
    assert late_share_interval([0] * 20, [100] * 20, 0.05)[0] == 0
    assert late_share_interval([100] * 20, [100] * 20, 0.05)[1] == 1
