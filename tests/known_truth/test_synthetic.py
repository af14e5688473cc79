"""Planned delays, losses, duplicates, reordering, corruption and stalls are measured correctly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.coded import lacking
from tests.known_truth.measuring import Case, Measured, evenly, exponential, lognormal, measure

pytestmark = pytest.mark.slow

MESSAGES, TRIALS = 1000, 2
ONCE: Case = {"trials": 1}
SLOW = {"delay_us": 100_000}
LATE_US = 2500
"""The extra delay that a busy machine may add to a median: waking a thread can take several milliseconds."""

CASES: dict[str, Case] = {
    "constant": {**ONCE, "plan": {"delay_us": 3000}},
    "exponential": {"trials": 3, "plan": {"delay_us": 2000, "jitter": "exponential", "jitter_us": 1000, "seed": 11}},
    "lognormal": {"trials": 3, "plan": {"delay_us": 1000, "jitter": "lognormal", "jitter_us": 1000, "seed": 4}},
    "chain": {**ONCE, "relays": 3, "rate": 100, "messages": 50, "plan": {"delay_us": 1000}},
    "call": {**ONCE, "pattern": "rpc", "relays": 1, "rate": 100, "messages": 50, "plan": {"delay_us": 1000}},
    "loss": {"plan": {"loss": 0.1, "seed": 5}},
    "seldom loss": {**ONCE, "plan": {"lose_every": 190}},
    "duplicates": {"plan": {"duplicate_every": 10}},
    "reordering": {**ONCE, "plan": {"reorder_every": 20}},
    "all at once": {**ONCE, "plan": {"lose_every": 250, "duplicate_every": 11, "reorder_every": 30}},
    "stall": {**ONCE, "rate": 1000, "plan": {"stall_at": 250, "stall_ms": 500}},
    "overload": {**ONCE, "plan": {"max_rate_hz": 1000}},
    "full": {**ONCE, "rate": 5000, "warmup": 4000, "messages": 2000, "plan": {"max_rate_hz": 4970, "queue": 20}},
    "long way": {**ONCE, "rate": 1000, "plan": SLOW},
    "slow places": {
        **ONCE,
        "rate": 100,
        "messages": 50,
        "relays": 5,
        "work": "sleep:5ms",
        "plan": SLOW,
    },
    "altered": {"plan": {"corrupt_every": MESSAGES}},
}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measure(tmp_path_factory.mktemp("known-truth"), CASES)


@pytest.fixture
def rows(run: Measured) -> dict[str, Row]:
    return run.rows


def test_the_draws_are_those_of_the_readme() -> None:
    assert [round(evenly(seq, 1, 7), 9) for seq in range(3)] == [0.155894071, 0.106630200, 0.517029350]


def test_a_constant_delay_is_a_lower_bound_that_the_median_keeps_close_to(rows: dict[str, Row]) -> None:
    row = rows["constant"]
    assert row["status"] == "ok"
    assert row["service_min_us"] >= 3000
    assert row["service_p50_us"] <= 3000 + LATE_US
    assert row["response_p50_us"] >= row["service_p50_us"]
    assert row["lost"] == row["duplicated"] == row["reordered"] == 0


@pytest.mark.parametrize(("name", "draw"), [("exponential", exponential), ("lognormal", lognormal)])
def test_percentiles_are_those_of_the_distribution(run: Measured, name: str, draw: Callable[[int, int], float]) -> None:
    row, plan = run.rows[name], CASES[name]["plan"]
    planned = [plan["delay_us"] + plan["jitter_us"] * draw(seq, plan["seed"]) for seq in range(MESSAGES)] * 3
    seen = run.service_us(name)
    late = seen - planned
    assert late.min() >= -1, "no message is early; a microsecond is for rounding"
    assert np.median(late) <= LATE_US
    for each in (50, 90, 99):
        truth, raw = (float(np.percentile(values, each, method="median_unbiased")) for values in (planned, seen))
        assert row[f"service_p{each}_us"] == pytest.approx(raw, abs=0.01), "all raw samples and nothing else"
        assert row[f"service_p{each}_us"] >= truth - 1
    assert row["service_p50_us"] <= float(np.median(planned)) + LATE_US
    for bounded in ("p50", "p99"):
        low, point, high = (row[f"service_{bounded}{end}_us"] for end in ("_low", "", "_high"))
        assert low <= point <= high
    assert row["service_count"] == row["received"] == 3 * MESSAGES


def test_every_hop_of_a_chain_takes_its_delay_and_is_counted(rows: dict[str, Row]) -> None:
    row = rows["chain"]
    assert row["hop_min_us"] >= 1000
    assert row["service_min_us"] >= 4 * 1000
    assert row["hop_count"] == 4 * row["service_count"]
    # The time from sent to the last receiver is `service` in a chain of one pair.
    assert row["chain_per_hop_p50_us"] == pytest.approx(row["service_p50_us"] / 4)


def test_a_call_takes_the_delay_of_every_way(rows: dict[str, Row]) -> None:
    row = rows["call"]
    assert row["hop_min_us"] >= 1000
    assert row["roundtrip_min_us"] >= 4 * 1000, "two links, each there and back"
    assert row["hop_count"] == 2 * row["roundtrip_count"], "hops are those of the requests"
    assert row["chain_per_hop_p50_us"] >= 1000
    assert row["received"] == 50


def test_loss_is_counted_exactly(rows: dict[str, Row]) -> None:
    row = rows["loss"]
    lost = sum(evenly(seq, 0, 5) < 0.1 for seq in range(MESSAGES))
    assert row["lost"] == TRIALS * lost
    assert row["received"] == TRIALS * (MESSAGES - lost)
    assert row["sent"] == TRIALS * MESSAGES
    assert row["status"] == "saturated", "a tenth of all messages is no figure to rank"
    assert lacking(row["reason"], f"W-OVERLOAD-LOSS {lost / MESSAGES:.1%}") == []


def test_a_loss_that_is_seldom_is_counted_and_no_overload(rows: dict[str, Row]) -> None:
    assert rows["seldom loss"]["lost"] == MESSAGES // 190
    assert rows["seldom loss"]["reason_code"] != "W-OVERLOAD-LOSS"


def test_duplicates_are_counted_exactly(rows: dict[str, Row]) -> None:
    row = rows["duplicates"]
    assert row["duplicated"] == TRIALS * MESSAGES // 10
    assert row["received"] == TRIALS * MESSAGES
    assert row["lost"] == row["reordered"] == 0


def test_reordering_is_counted_exactly(rows: dict[str, Row]) -> None:
    row = rows["reordering"]
    # Every 20th message arrives after its successor; the last message has no successor and keeps its place.
    assert row["reordered"] == MESSAGES // 20 - 1
    assert row["lost"] == row["duplicated"] == 0


def test_what_happens_at_once_is_told_apart(rows: dict[str, Row]) -> None:
    every: dict[int, set[int]] = {n: {seq for seq in range(MESSAGES) if seq % n == n - 1} for n in (250, 11, 30)}
    lost = every[250]
    row = rows["all at once"]
    assert row["lost"] == len(lost)
    assert row["duplicated"] == len(every[11] - lost)
    # If its successor was lost, a message may be overtaken only by the message after the successor.
    kept = every[30] - lost
    assert len(kept) - len(lost) <= row["reordered"] <= len(kept)


def test_a_stall_of_the_sender_is_seen_in_response_and_not_in_service(rows: dict[str, Row]) -> None:
    row = rows["stall"]
    assert row["response_p99_us"] > 400_000, "the messages that were due during the stall waited for it"
    assert row["service_p99_us"] < 100_000, "once sent, none of them took long"
    assert row["response_max_us"] >= 490_000
    assert row["lost"] == 0


def test_overload_is_saturation_and_not_latency(rows: dict[str, Row]) -> None:
    assert rows["overload"]["status"] == "saturated"
    assert lacking(rows["overload"]["reason"], "W-OVERLOAD-QUEUE") == []


def test_a_queue_that_is_full_before_the_first_message_is_saturation(rows: dict[str, Row]) -> None:
    row = rows["full"]
    assert (row["status"], row["lost"]) == ("saturated", 0), "it neither grows nor loses: it has twenty places"
    assert row["busy"] > row["sent"]


@pytest.mark.parametrize(("name", "least_us"), [("long way", 100_000), ("slow places", 6 * 100_000 + 5 * 5000)])
def test_what_takes_many_periods_by_itself_is_no_queue(name: str, least_us: float, rows: dict[str, Row]) -> None:
    row = rows[name]
    assert (row["status"], row["reason"]) == ("ok", None)
    assert row["response_min_us"] >= least_us


def test_altered_content_fails_the_cell_and_no_other(rows: dict[str, Row]) -> None:
    row = rows["altered"]
    assert row["status"] == "failed", "the last message carries a checksum, and it was altered"
    assert lacking(row["reason"], "E-CONTENT 1") == []
    assert (row["trials_good"], row["content_errors"]) == (0, TRIALS)
    assert [name for name, each in rows.items() if each["status"] == "failed"] == ["altered"]


def test_what_is_made_for_tests_is_never_ranked(rows: dict[str, Row]) -> None:
    assert not any(row["ranked"] for row in rows.values())
