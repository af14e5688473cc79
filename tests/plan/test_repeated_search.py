"""A round of a repeated search finds a rate that holds and a rate that fails, one grid step apart."""

from __future__ import annotations

import math
from statistics import fmean

import pytest

from hopmeter.plan.search import first_rate, next_rate_in_round, rate_of_round
from hopmeter.scenario.search import Search

SEARCH = Search(factor=1.2, rounds=5, lowest=1, highest=10_000_000)


def search_round(limit_hz: float, first_hz: float, search: Search = SEARCH) -> tuple[dict[float, bool], float | None]:
    """Search for the limit of a transport that keeps up with all rates up to `limit_hz`."""
    verdicts: dict[float, bool] = {}
    while (rate := next_rate_in_round(search, first_hz, verdicts)) is not None:
        verdicts[rate] = rate <= limit_hz
    return verdicts, rate_of_round(verdicts)


@pytest.mark.parametrize("off", [0.001, 0.3, 0.95, 1.05, 3.0, 1000.0])
@pytest.mark.parametrize("limit_hz", [123.0, 456_789.0])
def test_a_round_ends_within_its_resolution_of_the_limit(limit_hz: float, off: float) -> None:
    verdicts, found = search_round(limit_hz, limit_hz * off)
    assert found is not None
    assert max(found / limit_hz, limit_hz / found) < math.sqrt(1.2) * 1.002
    near = abs(math.log(off, 1.2))
    assert len(verdicts) <= 3 + 2 * math.log2(1 + near), "a bad guess costs only a few more steps"


def test_a_round_near_the_limit_takes_about_two_steps() -> None:
    steps = [len(search_round(5000.0, first_rate(SEARCH, 5000.0, str(seed)))[0]) for seed in range(200)]
    assert fmean(steps) < 2.3


@pytest.mark.parametrize("limit_hz", [0.1, 1e9])
def test_a_limit_outside_the_allowed_rates_gives_no_rate(limit_hz: float) -> None:
    assert search_round(limit_hz, 5000.0)[1] is None


def test_rounds_are_right_on_average_and_differ() -> None:
    """The random grid makes the mean of many rounds finer than the resolution of one round."""
    found = [search_round(7777.0, first_rate(SEARCH, 7000.0, str(seed)))[1] or 0.0 for seed in range(400)]
    assert len(set(found)) > 300
    assert math.exp(fmean(map(math.log, found))) == pytest.approx(7777.0, rel=0.01)
