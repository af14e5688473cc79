"""A percentile that the samples cannot resolve is null."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hopmeter.analysis.latency.intervals import interval
from hopmeter.analysis.latency.percentiles import PERMILLE, QUICK_TRIALS, least_count, quantiles, resolvable
from hopmeter.scenario import resolve
from hopmeter.scenario.search import LEAST_MESSAGES
from tests.analysis.made import analyse_trials, arrivals, cell, messages


@pytest.mark.parametrize(
    ("count", "resolved"),
    [(19, []), (20, [500]), (99, [500]), (100, [500, 900]), (1000, [500, 900, 990]), (10_000, [500, 900, 990, 999])],
)
def test_a_percentile_needs_ten_samples_beyond_it(count: int, resolved: list[int]) -> None:
    found = dict(zip((500, 900, 990, 999), quantiles(np.arange(count), (500, 900, 990, 999), 0), strict=True))
    assert [permille for permille, value in found.items() if value is not None] == resolved


def test_the_least_count_that_resolves_as_much() -> None:
    assert [resolvable(count) for count in (5, 20, 99, 1000, 9999, 10_000, 50_000)] == [
        *(0, 20, 20, 1000, 1000, 10_000, 10_000)
    ]


def test_a_step_of_a_search_sends_as_many_messages_as_its_p99_takes() -> None:
    assert least_count(PERMILLE["p99"]) == LEAST_MESSAGES


def test_a_scenario_that_names_no_number_of_trials_is_no_quick_look() -> None:
    assert resolve.TRIALS >= QUICK_TRIALS


def test_no_interval_from_two_trials_nor_from_one_that_does_not_resolve() -> None:
    assert interval([1.0, 2.0], 1.5) is None
    assert interval([1.0, 2.0, None], 1.5) is None
    assert interval([1.0, 2.0, 3.0], None) is None
    assert interval([1.0, 2.0, 3.0], 2.0) is not None


def test_an_interval_contains_its_point_and_is_none_too_narrow_for_disagreeing_trials() -> None:
    low, high = interval([10.0, 11.0, 12.0], 14.0) or (0, 0)
    assert low < 10
    assert high > 14
    below, above = interval([-1.0, 0.0, 1.0], 0.0, positive=False) or (0, 0)
    assert below == pytest.approx(-2.484, abs=1e-3), "Student's t with 2 degrees of freedom over the root of 3"
    assert above == -below


def late_trials(late: Sequence[int], count: int = 125) -> list[dict[int, list[dict[str, int]]]]:
    """Return one trial for each given number of messages that take 900 µs; all other messages take 50 µs."""
    return [
        {0: messages(count), 1: [*arrivals(range(count - many)), *arrivals(range(count - many, count), took_us=900)]}
        for many in late
    ]


def test_short_trials_together_have_a_p99_with_an_interval(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(trials=12), *late_trials([1] * 12))
    assert row["response_p99_us"] == 50
    assert (row["response_p99_low_us"], row["response_p99_high_us"]) == (50, 900)
    assert row["p99_rounds"] is None


def test_too_few_messages_for_p99_say_how_many_rounds_it_takes(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(trials=5), *late_trials([0, 0, 0, 0, 0]))
    assert (row["response_p99_us"], row["response_p99_low_us"], row["response_p99_high_us"]) == (None, None, None)
    assert row["p99_rounds"] == 8, "1,000 messages in trials of 125"


def test_late_messages_of_one_trial_make_a_wide_interval(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(trials=10), *late_trials([60, *[0] * 9]))
    assert row["response_p99_us"] == 900 and row["response_p99_low_us"] == 50
    assert row["response_p99_high_us"] > 9000, "the next trial may have as many messages that are later"


def test_a_lost_message_is_later_than_all_others(tmp_path: Path) -> None:
    trial = {0: messages(1000), 1: [each for each in arrivals(range(1000)) if each["seq"] % 125 != 60]}
    row = analyse_trials(tmp_path, cell(trials=3), trial, trial, trial)
    assert (row["status"], row["lost"], row["response_p90_us"]) == ("ok", 24, 50)
    assert row["response_p99_us"] == 50
    worse = {0: messages(1000), 1: arrivals(range(989))}
    row = analyse_trials(tmp_path / "worse", cell(trials=3), worse, worse, worse)
    assert (row["response_p90_us"], row["response_p99_us"], row["response_max_us"]) == (50, None, 50)


def test_what_does_not_apply_is_null(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(20), 1: arrivals(range(20))})
    absent = ("roundtrip", "encode", "decode", "gather", "server", "copy", "overhead")
    assert all(row[f"{name}_{each}"] is None for name in absent for each in ("p50_us", "count", "min_us"))
    assert [row[name] for name in ("forward", "cpu_us_per_message", "forward_copies_per_message", "floor_us")] == [
        None
    ] * 4
    assert (row["response_p90_us"], row["response_p50_low_us"]) == (None, None)
    assert row["quick"] is True


def test_nothing_received_is_no_latency_and_no_error(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(), {0: messages(30), 1: []})
    assert (row["status"], row["response_count"], row["lost"]) == ("saturated", None, 30)
