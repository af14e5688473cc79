"""Tests for the search verdict: whether a transport sustained a rate."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.cells.rate_search import limits_of, why_not
from hopmeter.messages import split_code
from hopmeter.scenario.search import Search

BOUND = Search(bound_p99="5ms", start=100)
ROW: dict[str, Any] = {
    "status": "ok",
    "reason": None,
    "trials": 1,
    "trials_good": 1,
    "lost": 0,
    "received": 1000,
    "response_p99_us": 4990.0,
    "response_max_us": 9000.0,
    "clock_uncertainty_us": None,
}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, ""),
        ({"response_p99_us": 5010.0}, "p99 was 5010 us"),
        ({"response_p99_us": None}, "max was 9000 us"),
        ({"clock_uncertainty_us": 9.0}, ""),
        ({"clock_uncertainty_us": 11.0}, "p99 was 4990 us, known to ±11 us between the clocks of the hosts"),
        ({"lost": 1}, "1 of 1001 messages were lost"),
    ],
)
def test_a_rate_holds_only_if_it_surely_kept_the_bound(changed: dict[str, Any], says: str) -> None:
    found = why_not(ROW | changed, limits_of(BOUND, []))
    assert found.startswith(says) and bool(found) == bool(says)


@pytest.mark.parametrize(
    ("require", "changed", "code"),
    [
        ([], {"response_p99_us": 1e9}, None),
        ([], {"lost": 1}, "W-SEARCH-LOSS"),
        (["p99 < 1ms"], {"response_p99_us": 999.0}, None),
        (["p99 < 1ms"], {"response_p99_us": 1000.0}, "W-SEARCH-LATE"),
        (["p50 < 1ms"], {"response_p50_us": 1001.0}, "W-SEARCH-LATE"),
        (["lost < 1%"], {"lost": 1}, None),
        (["lost < 0.05%"], {"lost": 1}, "W-SEARCH-LOSS"),
        (["cpu < 50%"], {"cpu_core_percent": 60.0}, "W-SEARCH-CPU"),
    ],
)
def test_a_search_without_a_bound_keeps_the_requirements(
    require: list[str], changed: dict[str, Any], code: str | None
) -> None:
    found = why_not(ROW | changed, limits_of(Search(), require))
    assert split_code(found)[1] == code and bool(found) == bool(code)
