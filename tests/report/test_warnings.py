"""Each rule speaks when it must, and a clean run is quiet."""

from __future__ import annotations

from typing import Any

import pytest
from report_rows import cell, run_of

from hopmeter.analysis import percentiles
from hopmeter.report.formatting import THIN
from hopmeter.report.result_rules import RULES, warnings

GOOD = cell("shm", 10, 9, 11)
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("A quick look", {"quick": True}, {}),
    ("No interval", {"response_p50_low_us": None}, {}),
    ("Too few messages for a median", {"response_p50_us": None}, {}),
    ("p99 is not resolved everywhere", {"response_p99_us": None}, {}),
    ("p99.9 is not resolved everywhere", {"response_p999_us": None}, {}),
    ("Could not keep up", {"status": "saturated"}, {}),
    (
        "Every core was busy",
        {"wait": "block", "cpu_us_per_message": 1900.0, "achieved_hz": 1000.0},
        {"machine": {"usable_cores": [0, 1], "virtualisation": "none"}},
    ),
    ("Some trials failed", {"trials_good": 4}, {}),
    ("Messages were lost", {"lost": 3}, {}),
    ("Messages arrived more than once", {"duplicated": 1}, {}),
    ("Messages arrived out of order", {"reordered": 1}, {}),
    ("Sends were refused", {"busy": 1}, {}),
    ("Negative latencies", {"negative": 2}, {}),
    ("The path was tcp, not shared memory", {"warnings": ["the path was tcp, not shared memory"]}, {}),
    ("4 messages arrived with other bytes than were sent", {"content_errors": 4}, {}),
    ("The data took another way", {"path": "shared memory", "loopback_bytes_per_message": 9000.0}, {}),
    ("The source was late", {"pacing_error_p99_us": 51.0}, {}),
    ("No floor", {"floor_us": None, "floor_reason": "shm does not offer rpc"}, {}),
    ("Quicker than the floor", {"times_floor": 0.9}, {}),
    ("A noisy machine", {}, {"noise": {"cores": [{"core": 1, "longest_us": 101.0}]}}),
    (
        "Machine: governor",
        {},
        {"doctor": [{"subject": "governor", "level": "hurts", "says": "powersave", "remedy": "set it"}]},
    ),
]


def titles(row: dict[str, Any], about: dict[str, Any]) -> list[str]:
    return [warning.title for warning in warnings([run_of(GOOD | row, **about)])]


def test_a_clean_run_is_quiet() -> None:
    good = [{"subject": "governor", "level": "good", "says": "performance", "remedy": ""}]
    assert (
        titles(
            {},
            {
                "machine": {"virtualisation": "none"},
                "noise": {"cores": [{"core": 0, "longest_us": 9.0}]},
                "doctor": good,
            },
        )
        == []
    )


@pytest.mark.parametrize(("title", "row", "about"), CASES, ids=str)
def test_a_rule_speaks(title: str, row: dict[str, Any], about: dict[str, Any]) -> None:
    assert title in titles(row, about)


def test_stolen_time_is_a_share_of_the_trials() -> None:
    run = run_of(GOOD)
    run.trials = [{"cell": "c0", "trial": 0, "good": True, "wall_s": 1.0, "steal_us": 20_000.0}]
    assert "Stolen time" in [warning.title for warning in warnings([run])]
    run.trials[0]["steal_us"] = 10.0
    assert warnings([run]) == []


def test_runs_of_several_machines_and_versions_are_told_apart() -> None:
    runs = [run_of(GOOD | {"library_version": version}, machine={"cpu_model": version}) for version in ("1.0", "1.1")]
    assert [warning.title for warning in warnings(runs)] == ["Mixed versions", "Several machines"]


@pytest.mark.parametrize(
    ("column", "least"), [("response_p50_us", "40"), ("response_p99_us", "2 000"), ("response_p999_us", "20 000")]
)
def test_the_messages_that_a_percentile_takes_follow_from_those_beyond_it(
    column: str, least: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(percentiles, "BEYOND", 20)
    [said] = [
        warning.text for warning in warnings([run_of(GOOD | {column: None})]) if "messages in all" in warning.text
    ]
    assert f" {least} messages in all" in said.replace(THIN, " ")


def test_every_rule_has_a_sentence() -> None:
    assert all(rule.__doc__ for rule in RULES)
