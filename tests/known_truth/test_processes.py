"""Planned delays, losses and deadline misses between processes are measured correctly in each language."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.known_truth.measuring import Case, Measured, evenly, exponential, measure

pytestmark = pytest.mark.slow

LANGUAGES = ("rust", "c++", "python")
MESSAGES = 100
LATE_US = 2500
"""The extra delay that a busy machine may add to a median."""
DEADLINE_US = 300_000
MARGIN_US = 200_000
"""How far planned hits and misses are from the deadline, which is more than a busy machine delays a thread."""

SHORT: Case = {"placement": "process", "rate": 100, "messages": MESSAGES, "trials": 1}
PLANS: dict[str, Case] = {
    "deadline": {**SHORT, "plan": {"delay_us": DEADLINE_US - MARGIN_US, "late_every": 10, "late_us": 2 * MARGIN_US}},
    "jitter": {**SHORT, "plan": {"delay_us": 3000, "jitter": "exponential", "jitter_us": 1000, "seed": 11}},
    "damage": {**SHORT, "wait": "spin", "plan": {"loss": 0.1, "seed": 5, "duplicate_every": 10, "reorder_every": 20}},
    "stall": {**SHORT, "plan": {"stall_at": 25, "stall_ms": 500}},
    "call": {**SHORT, "pattern": "rpc", "relays": 1, "messages": 50, "plan": {"delay_us": 1000}},
}
for_languages = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    """Start one run per language concurrently, because the runs mostly sleep."""

    def measure_language(language: str) -> Measured:
        cases = {f"{name} {language}": {"language": language, **case} for name, case in PLANS.items()}
        return measure(tmp_path_factory.mktemp("processes"), cases, drain="1s")

    with ThreadPoolExecutor() as pool:
        return dict(zip(LANGUAGES, pool.map(measure_language, LANGUAGES), strict=True))


@pytest.fixture
def run(runs: dict[str, Measured], language: str) -> Measured:
    return runs[language]


def row(run: Measured, name: str) -> dict[str, Any]:
    """Return the row of a case, after checking that the case succeeded in separate processes of its language."""
    found = run.rows[name]
    assert (found["placement"], found["language"]) == ("process", name.split()[1])
    assert found["trials_good"] == 1, found["reason"]
    return found


@for_languages
def test_exactly_the_planned_messages_miss_the_deadline(run: Measured, language: str) -> None:
    name = f"deadline {language}"
    assert row(run, name)["lost"] == 0
    service_us = run.service_us(name)
    planned = np.arange(MESSAGES) % 10 == 9
    assert service_us[planned].min() >= DEADLINE_US + MARGIN_US
    assert service_us.min() >= DEADLINE_US - MARGIN_US
    assert np.flatnonzero(service_us > DEADLINE_US).tolist() == np.flatnonzero(planned).tolist()


@for_languages
def test_no_message_is_early_and_half_of_them_are_on_time(run: Measured, language: str) -> None:
    name = f"jitter {language}"
    assert row(run, name)["received"] == MESSAGES
    planned = [3000 + 1000 * exponential(seq, 11) for seq in range(MESSAGES)]
    late_us = run.service_us(name) - planned
    assert late_us.min() >= -1, "a microsecond is for rounding"
    assert np.median(late_us) <= LATE_US


@for_languages
def test_losses_duplicates_and_reordering_are_counted_exactly(run: Measured, language: str) -> None:
    found = row(run, f"damage {language}")
    lost = {seq for seq in range(MESSAGES) if evenly(seq, 0, 5) < 0.1}
    every: dict[int, set[int]] = {n: {seq for seq in range(MESSAGES) if seq % n == n - 1} for n in (10, 20)}
    # A lost sample overtakes no other sample, and the last sample has no successor.
    overtaken = {seq for seq in every[20] - lost - {MESSAGES - 1} if seq + 1 not in lost}
    assert found["lost"] == len(lost)
    assert found["received"] == (MESSAGES - len(lost))
    assert found["duplicated"] == len(every[10] - lost)
    assert found["reordered"] == len(overtaken)


@for_languages
def test_a_call_takes_the_delay_of_every_way(run: Measured, language: str) -> None:
    found = row(run, f"call {language}")
    assert found["roundtrip_min_us"] >= 4 * 1000, "two links, each there and back"
    assert found["hop_min_us"] >= 1000
    assert found["received"] == 50


@for_languages
def test_a_stall_of_the_sender_delays_the_next_messages(run: Measured, language: str) -> None:
    found = row(run, f"stall {language}")
    assert found["response_max_us"] >= 490_000
    assert found["lost"] == 0
