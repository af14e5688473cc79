"""Tests for the recovery of trials with a restart, and for the messages that the restart loses and repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter.messages import codes
from tests.analysis.made import MS, analyse_trials, arrivals, cell, messages
from tests.coded import lacking

PARTS = ("outage_us", "restart_us", "reconnection_us")
RESTART = cell(restart="broker", pause="10ms", warmup=0)


def moments(killed_ms: float = 4.5, restarted_ms: float = 14.5, ready_ms: float = 16) -> dict[str, Any]:
    """Return the moments of a restart, given in milliseconds after the first due time."""
    found = {"killed_ns": killed_ms, "restarted_ns": restarted_ms, "ready_ns": ready_ms}
    return {name: round(at_ms * MS) for name, at_ms in found.items()}


def test_the_recovery_ends_with_the_first_arrival_that_was_due_after_the_end_of_the_process(tmp_path: Path) -> None:
    late = [*arrivals([4], 13_000), *arrivals(range(18, 30))]
    row = analyse_trials(tmp_path, RESTART, {0: messages(30), 1: [*arrivals(range(4)), *late]}, moments=moments())
    assert row["status"] == "ok"
    assert row["recovery_min_us"] == row["recovery_max_us"] == 18_050 - 14_500, "message 4 was due before the kill"
    assert [row[name] for name in PARTS] == [18_050 - 4500, 1500, 2050]
    assert (row["lost_by_restart"], row["repeated_by_restart"]) == (13, 0)
    assert row["warnings"] == []


def test_a_message_of_the_outage_that_arrives_late_ends_the_outage(tmp_path: Path) -> None:
    trial = {0: messages(30), 1: [*arrivals(range(5)), *arrivals([9], 8000), *arrivals(range(20, 30))]}
    row = analyse_trials(tmp_path, RESTART, trial, moments=moments())
    assert (row["recovery_max_us"], row["lost_by_restart"]) == (17_000 - 14_500, 14)


def test_the_restart_ends_no_later_than_the_recovery(tmp_path: Path) -> None:
    trial = {0: messages(30), 1: [*arrivals(range(5)), *arrivals(range(18, 30))]}
    row = analyse_trials(tmp_path, RESTART, trial, moments=moments(ready_ms=25))
    assert (row["restart_us"], row["reconnection_us"]) == (3550, 0)


def test_messages_that_never_stop_need_no_recovery(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, RESTART, {0: messages(30), 1: arrivals(range(30))}, moments=moments())
    assert (row["recovery_max_us"], row["lost_by_restart"], row["outage_us"]) == (0, 0, 550)


def test_repeated_messages_are_counted_once_each(tmp_path: Path) -> None:
    again = [*arrivals(range(30)), *arrivals([20, 21, 21], 100)]
    row = analyse_trials(tmp_path, RESTART, {0: messages(30), 1: again}, moments=moments())
    assert row["repeated_by_restart"] == 2


def test_every_receiver_has_to_recover_and_the_worst_counts(tmp_path: Path) -> None:
    two = cell(restart="broker", pause="10ms", warmup=0, sinks=2)
    early, late = ([*arrivals(range(5)), *arrivals(range(first, 30))] for first in (18, 22))
    row = analyse_trials(tmp_path, two, {0: messages(30), 1: early, 2: late}, moments=moments())
    assert (row["recovery_max_us"], row["lost_by_restart"]) == (22_050 - 14_500, 17)


@pytest.mark.parametrize("arrived", [range(5), range(0)], ids=["before", "nothing"])
def test_a_trial_without_a_message_after_the_restart_has_not_recovered(tmp_path: Path, arrived: range) -> None:
    row = analyse_trials(tmp_path, RESTART, {0: messages(30), 1: arrivals(arrived)}, moments=moments())
    assert (row["status"], row["recovery_lost"], row["median_us"]) == ("ok", 1, None)
    assert [row[name] for name in PARTS] == [None] * len(PARTS)
    assert row["lost_by_restart"] == 30 - len(arrived)
    assert codes(row["warnings"]) == ["W-NOT-RECOVERED"]


SINK = RESTART.with_values(restart="sink")


def test_a_restarted_sink_loses_only_messages_that_were_due_after_its_end(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, SINK, {0: messages(30), 1: arrivals(range(18, 30))}, moments=moments())
    assert (row["recovery_max_us"], row["lost_by_restart"]) == (18_050 - 14_500, 13)


def test_a_sink_that_does_not_start_again_has_not_recovered_and_the_row_says_why(tmp_path: Path) -> None:
    failed = moments() | {"ready_ns": None, "restart_error": "no such link [E-NODE-FAILED]"}
    row = analyse_trials(tmp_path, SINK, {0: messages(30)}, moments=failed)
    assert (row["status"], row["recovery_lost"], row["lost_by_restart"]) == ("ok", 1, 25)
    assert lacking(row["warnings"][0], "W-NOT-RECOVERED link") == []


def test_a_trial_that_restarted_nothing_is_not_good(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, RESTART, {0: messages(30), 1: arrivals(range(30))})
    assert (row["status"], row["reason_code"]) == ("failed", "E-NOT-RECORDED")
