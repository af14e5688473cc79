"""Tests for the clocks of three hosts: routes between hosts, sessions, and the closure error of the loop."""

from __future__ import annotations

import pytest

from hopmeter.clocks.batches import Batch, ClockError
from hopmeter.clocks.clock_state import ClockState
from hopmeter.clocks.run_clocks import RunClocks
from tests.clocks.simulated import HERE, SECOND, Clock, Network, array, clock

CLOCKS: dict[str, Clock] = {
    "alpha": HERE,
    "beta": clock(1000 * SECOND, fast_ppm=20),
    "gamma": clock(-77, fast_ppm=-30),
}


def batches(one: str, other: str, seed: int = 1) -> list[Batch]:
    return Network(seed, CLOCKS[one], CLOCKS[other], (one, other)).batches(9)


@pytest.mark.parametrize("seed", range(20))
def test_times_travel_over_a_third_host_within_the_sum_of_both_uncertainties(seed: int) -> None:
    clocks = RunClocks([*batches("alpha", "beta", seed), *batches("alpha", "gamma", seed + 1000)])
    for origin, target in (("beta", "gamma"), ("gamma", "beta")):
        begin, end = (CLOCKS[origin](each) for each in (10 * SECOND, 12 * SECOND))
        route = clocks.route(origin, target, begin, end)
        assert len(route.steps) == 2
        off = int(route.apply(array([begin]))[0]) - CLOCKS[target](10 * SECOND)
        assert abs(off) <= route.uncertainty_ns


def test_the_clocks_of_many_hosts_are_compared_with_one_and_translated_over_it() -> None:
    others = {f"h{number}": clock(number * SECOND, fast_ppm=number * 10 - 50) for number in range(1, 12)}
    measured = [
        batch
        for number, (name, there) in enumerate(others.items())
        for batch in Network(number, there, HERE, (name, "h0")).batches(9)
    ]
    clocks = RunClocks(measured)
    begin = others["h3"](10 * SECOND)
    route = clocks.route("h3", "h9", begin, begin + SECOND)
    over = clocks.route("h3", "h0", begin, begin + SECOND)
    assert len(route.steps) == 2
    assert over.uncertainty_ns < route.uncertainty_ns
    assert abs(int(route.apply(array([begin]))[0]) - others["h9"](10 * SECOND)) <= route.uncertainty_ns
    assert clocks.closures() == []


def test_a_direct_comparison_is_preferred() -> None:
    clocks = RunClocks([*batches("alpha", "beta"), *batches("alpha", "gamma"), *batches("gamma", "beta")])
    assert len(clocks.route("beta", "gamma", CLOCKS["beta"](10 * SECOND), CLOCKS["beta"](11 * SECOND)).steps) == 1


def test_within_one_host_nothing_is_translated_and_nothing_is_uncertain() -> None:
    route = RunClocks([]).route("alpha", "alpha", 0, 1)
    assert (route.uncertainty_ns, route.residual_ns) == (0, 0)
    assert route.apply(array([7])).tolist() == [7]


def test_hosts_that_were_never_compared_are_an_error() -> None:
    with pytest.raises(ClockError, match=r"clocks of alpha and gamma.*E-CLOCK-UNKNOWN"):
        RunClocks(batches("alpha", "beta")).route("alpha", "gamma", SECOND, 2 * SECOND)


def test_a_run_that_was_resumed_after_a_restart_has_two_models() -> None:
    restarted = Network(3, clock(-(10**15)), CLOCKS["beta"]).batches(5)
    later = [batch.model_copy(update={"session": "later"}) for batch in restarted]
    clocks = RunClocks([*batches("alpha", "beta"), *later])
    for begin in (10 * SECOND, 10 * SECOND - 10**15):
        route = clocks.route("alpha", "beta", begin, begin + SECOND)
        assert abs(int(route.apply(array([begin]))[0]) - CLOCKS["beta"](10 * SECOND)) <= route.uncertainty_ns


def test_sessions_that_cannot_be_told_apart_are_an_error() -> None:
    same = [batch.model_copy(update={"session": "later"}) for batch in batches("alpha", "beta", 2)]
    with pytest.raises(ClockError, match="two sessions"):
        RunClocks([*batches("alpha", "beta"), *same]).route("alpha", "beta", 10 * SECOND, 11 * SECOND)


@pytest.mark.parametrize("seed", range(20))
def test_the_loop_of_three_hosts_closes_within_its_bounds(seed: int) -> None:
    pairs = (("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma"))
    measured = [each for number, pair in enumerate(pairs) for each in batches(*pair, seed + number)]
    (closure,) = RunClocks(measured).closures()
    assert set(closure.hosts) == {"alpha", "beta", "gamma"}
    assert 0 < abs(closure.sum_ns) <= closure.bound_ns


def test_two_hosts_make_no_loop() -> None:
    assert RunClocks(batches("alpha", "beta")).closures() == []


def state(host: str, clock_id: str) -> ClockState:
    known = {"session": "s", "host": host, "clock": clock_id, "kernel": None}
    return ClockState.model_validate(known | {"monotonic_ns": 5, "raw_ns": 5, "bracket_ns": 1})


def test_hosts_that_share_a_clock_need_no_translation_and_share_the_comparison_with_others() -> None:
    states = [state("alpha", "one"), state("container", "one"), state("beta", "two")]
    clocks = RunClocks(batches("alpha", "beta"), states)
    assert clocks.route("alpha", "container", 0, SECOND).uncertainty_ns == 0
    begin = 10 * SECOND
    route = clocks.route("container", "beta", begin, begin + SECOND)
    assert abs(int(route.apply(array([begin]))[0]) - CLOCKS["beta"](begin)) <= route.uncertainty_ns
    with pytest.raises(ClockError, match="E-CLOCK-UNKNOWN"):
        clocks.route("container", "gamma", begin, begin + SECOND)
