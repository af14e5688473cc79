"""Tests for the ratio of two sides from their turns, which noise that affects both sides does not change."""

from __future__ import annotations

import numpy as np
import pytest

from hopmeter.statistics import pair_turns


def test_noise_that_neighbouring_turns_share_cancels() -> None:
    noise = np.exp(np.random.default_rng(1).normal(0, 1, 21))
    old, new = pair_turns((20 * noise).tolist(), (20.6 * noise).tolist()) or (0, 0)
    assert new / old == pytest.approx(1.03)
    assert np.sqrt(old * new) == pytest.approx(np.sqrt(20 * 20.6) * np.median(noise))


def test_a_disturbance_of_some_turns_does_not_change_it() -> None:
    old, new = pair_turns([20, 20, 9000, 20, 20], [21, 21, 21, 7000, 21]) or (0, 0)
    assert (old, new) == (pytest.approx(20), pytest.approx(21))


def test_only_turns_that_both_sides_have_count() -> None:
    assert pair_turns([None, 10, 10, 10], [50, 20, None]) == (pytest.approx(10), pytest.approx(20))


@pytest.mark.parametrize(("old", "new"), [([], []), ([None, 10], [10, None]), ([0.0], [10]), ([-1.0], [10])])
def test_without_a_common_turn_above_zero_there_is_no_ratio(old: list[float | None], new: list[float | None]) -> None:
    assert pair_turns(old, new) is None
