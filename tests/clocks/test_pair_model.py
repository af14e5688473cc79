"""Tests for the two-clock model: its uncertainty contains the true offset, and the model detects a clock step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hopmeter.clocks.batches import ClockError
from hopmeter.clocks.pair_model import PairModel
from tests.clocks.simulated import HERE, SECOND, Network, Plain, array, clock

AHEAD = 1000 * SECOND


@pytest.mark.parametrize("seed", range(80))
def test_the_truth_lies_within_the_uncertainty_for_any_delays_and_drift(seed: int) -> None:
    there = clock(AHEAD, fast_ppm=(seed % 7 - 3) * 40)
    batches = Network(seed, HERE, there).batches(13)
    model = PairModel("alpha", "beta", batches)
    for begin in range(2 * SECOND, 56 * SECOND, 7 * SECOND):
        times = [int(each) for each in np.random.default_rng(seed).integers(begin, begin + 3 * SECOND, 20)]
        theirs = [there(each) for each in times]
        forward = model.translation("alpha", min(times), max(times))
        assert np.abs(forward.apply(array(times)) - array(theirs)).max() <= forward.uncertainty_ns
        back = model.translation("beta", min(theirs), max(theirs))
        assert np.abs(back.apply(array(theirs)) - array(times)).max() <= back.uncertainty_ns
        assert forward.uncertainty_ns < 5 * max(batch.least.bound_ns for batch in batches)


def test_the_errors_of_two_trials_hardly_ever_differ_by_more_than_twice_the_residual() -> None:
    there, differences = clock(AHEAD, fast_ppm=20), []
    for seed in range(100):
        model, errors = PairModel("alpha", "beta", Network(seed, HERE, there).batches(20)), []
        for begin in range(6 * SECOND, 85 * SECOND, 9 * SECOND):
            step = model.translation("alpha", begin, begin + 2 * SECOND)
            errors.append(int(step.apply(array([begin]))[0]) - there(begin))
        differences += [abs(one - other) / model.residual_ns for one, other in itertools.combinations(errors, 2)]
    assert np.mean(np.array(differences) > 2) < 0.005
    assert np.median(differences) > 0.1, "the residual is not far too large either"


def test_the_residual_does_not_contain_the_common_error_of_unequal_delays() -> None:
    class OneSlowWay(Plain):
        slower_ns = 1_000_000

    model = PairModel("alpha", "beta", OneSlowWay(3, HERE, clock(AHEAD)).batches(12))
    assert model.translation("alpha", 3 * SECOND, 20 * SECOND).uncertainty_ns > 500_000
    assert model.residual_ns < 1000


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_clock_that_is_set_fails_the_trial_in_which_it_happened_and_no_other(seed: int, sign: int) -> None:
    jump_at = 32 * SECOND
    there = clock(AHEAD, fast_ppm=15, jump_ns=sign * 60_000_000, jump_at_ns=jump_at)
    model = PairModel("alpha", "beta", Network(seed, HERE, there).batches(13))
    failed = []
    for begin in range(SECOND, 55 * SECOND, SECOND):
        try:
            step = model.translation("alpha", begin, begin + SECOND)
        except ClockError as error:
            assert error.code == "E-CLOCK-STEP"
            failed.append(begin)
            continue
        assert abs(int(step.apply(array([begin]))[0]) - there(begin)) <= step.uncertainty_ns
    assert any(begin <= jump_at <= begin + SECOND for begin in failed)
    assert all(abs(begin - jump_at) < 8 * SECOND for begin in failed), "only the interval of the jump"


@pytest.mark.parametrize("seed", range(25))
def test_a_step_too_small_to_be_noticed_is_part_of_the_uncertainty(seed: int) -> None:
    jump_at = 32 * SECOND
    for jump_ns in (2_000, 20_000, 200_000, 2_000_000):
        there = clock(AHEAD, fast_ppm=10, jump_ns=jump_ns, jump_at_ns=jump_at)
        model = PairModel("alpha", "beta", Network(seed, HERE, there).batches(13))
        for begin in (jump_at - 2 * SECOND, jump_at - 1, jump_at, jump_at + 2 * SECOND):
            try:
                step = model.translation("alpha", begin, begin + 1)
            except ClockError as error:
                assert error.code == "E-CLOCK-STEP"
                continue
            assert abs(int(step.apply(array([begin]))[0]) - there(begin)) <= step.uncertainty_ns


def test_a_slew_is_noticed_like_a_step() -> None:
    def read_slewed(true_ns: int) -> int:
        return true_ns + max(0, min(true_ns - 30 * SECOND, 3 * SECOND)) // 2000  # 500 ppm for three seconds

    model = PairModel("alpha", "beta", Plain(1, HERE, read_slewed).batches(13))
    with pytest.raises(ClockError, match="E-CLOCK-STEP"):
        model.translation("alpha", 31 * SECOND, 32 * SECOND)
    model.translation("alpha", 10 * SECOND, 12 * SECOND)


def test_a_trial_that_no_batch_follows_is_refused() -> None:
    model = PairModel("alpha", "beta", Network(1, HERE, clock(AHEAD)).batches(4))
    for begin, end in ((-SECOND, SECOND), (10 * SECOND, 30 * SECOND), (100 * SECOND, 101 * SECOND)):
        with pytest.raises(ClockError, match="E-CLOCK-UNKNOWN"):
            model.translation("alpha", begin, end)


def test_a_disturbed_batch_does_not_make_the_model_worse() -> None:
    class Disturbed(Plain):
        slower_ns = 5_000_000

    batches = Plain(1, HERE, clock(AHEAD)).batches(9)
    batches[4] = Disturbed(1, HERE, clock(AHEAD)).batch(20 * SECOND)
    assert PairModel("alpha", "beta", batches).translation("alpha", 17 * SECOND, 23 * SECOND).uncertainty_ns < 50_000


@pytest.mark.parametrize("seed", range(30))
def test_a_prediction_holds_for_the_next_seconds(seed: int) -> None:
    there = clock(AHEAD, fast_ppm=80)
    network = Network(seed, HERE, there)
    for batches in ([network.batch(0)], [network.batch(0), network.batch(2_000_000)], network.batches(5)):
        model, latest = PairModel("alpha", "beta", batches), batches[-1].least.at_ns
        for later in (0, SECOND // 10, 3 * SECOND):
            expected, uncertainty = model.predict("alpha", latest + later)
            assert abs(expected - there(latest + later)) <= uncertainty
            back, doubt = model.predict("beta", there(latest + later))
            assert abs(back - latest - later) <= doubt


def test_a_prediction_is_less_certain_the_later_it_is() -> None:
    model = PairModel("alpha", "beta", Plain(1, HERE, clock(AHEAD, fast_ppm=50)).batches(5))
    latest = model.batches[-1].least.at_ns
    doubts = [model.predict("alpha", latest + later * SECOND)[1] for later in (0, 1, 10, 100)]
    assert doubts == sorted(doubts)
    assert doubts[0] < 30_000 and doubts[-1] > 100_000


def test_drift_is_reported_in_parts_per_million() -> None:
    assert PairModel("alpha", "beta", Plain(5, HERE, clock(fast_ppm=100)).batches(13)).drift_ppm == pytest.approx(
        100, abs=1
    )
    assert PairModel("alpha", "beta", [Network(5, HERE, clock()).batch(0)]).drift_ppm is None
