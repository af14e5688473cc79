"""Tests for the time to the first message in trials whose source sends at once, and for the messages lost before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.made import MS, analyse_trials, arrivals, cell, messages

FIRST = ("launch_us", "opening_us", "discovery_us", "lost_at_start", "lost_after_open")
AT_ONCE = cell(begin="at-once", warmup=0)


def nodes(spawned_ms: float = -30, loaded_ms: float = -10, opened_ms: float = 2) -> list[dict[str, Any]]:
    """Return a source that opens at 0 and a sink that opens later, both in milliseconds after the first due time."""
    source = {"role": "source", "id": 0, "opened_ns": 0}
    sink = {"role": "sink", "id": 1, "opened_ns": round(opened_ms * MS)}
    moments = {"spawned_ns": round(spawned_ms * MS), "loaded_ns": round(loaded_ms * MS)}
    broker = {"endpoints": [], "facts": {"broker": "one that runs before the nodes"}}
    return [
        {"endpoints": [source], "spawned_ns": moments["spawned_ns"], "loaded_ns": moments["loaded_ns"] - MS},
        {"endpoints": [sink], "spawned_ns": moments["spawned_ns"] + MS, "loaded_ns": moments["loaded_ns"]},
        broker,
    ]


def test_the_parts_add_up_to_the_time_from_the_first_start_to_the_first_arrival(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, AT_ONCE, {0: messages(20), 1: arrivals(range(5, 20))}, nodes=nodes())
    assert row["status"] == "ok"
    assert row["first_message_min_us"] == row["first_message_max_us"] == 30_000 + 5050
    assert [row[name] for name in FIRST] == [20_000, 12_000, 3050, 5, 3]


def test_only_messages_before_the_first_arrival_that_never_arrive_are_lost_before_it(tmp_path: Path) -> None:
    late = [*arrivals([3], 50), *arrivals([1], 2500), *arrivals([6], 50)]
    row = analyse_trials(tmp_path, AT_ONCE, {0: messages(8), 1: late}, nodes=nodes())
    assert (row["lost_at_start"], row["lost_after_open"]) == (2, 1), "0 and 2 are lost, and 2 was due when all was open"
    assert row["lost"] == 5, "the loss of the whole trial is counted apart"


def test_a_callback_before_the_end_of_the_opening_leaves_no_time_to_the_discovery(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, AT_ONCE, {0: messages(3), 1: arrivals([0, 1, 2])}, nodes=nodes(opened_ms=1))
    assert (row["opening_us"], row["discovery_us"]) == (10_050, 0)


def test_every_receiver_has_to_get_a_message(tmp_path: Path) -> None:
    two = cell(begin="at-once", warmup=0, sinks=2)
    trial = {0: messages(20), 1: arrivals(range(5, 20)), 2: arrivals(range(9, 20))}
    row = analyse_trials(tmp_path, two, trial, nodes=nodes())
    assert row["first_message_max_us"] == 30_000 + 9050
    assert row["lost_at_start"] == 9, "of the receiver that lost most"


def test_a_receiver_without_a_message_loses_the_trial(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, AT_ONCE, {0: messages(40), 1: []}, nodes=nodes())
    assert (row["first_message_lost"], row["lost"], row["median_us"]) == (1, 40, None)
    assert [row[name] for name in FIRST] == [None] * len(FIRST)


@pytest.mark.parametrize("column", ["response_p50_us", "hop_p50_us", "growth", "backlog_ms_per_s"])
def test_such_a_cell_has_no_other_latency(column: str, tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, AT_ONCE, {0: messages(40), 1: arrivals(range(30, 40))}, nodes=nodes())
    assert row[column] is None
    assert row["status"] == "ok", "messages that no link could carry yet are no overload"


def test_a_node_of_another_version_fails_the_trial(tmp_path: Path) -> None:
    told = nodes()
    del told[1]["loaded_ns"]
    row = analyse_trials(tmp_path, AT_ONCE, {0: messages(3), 1: arrivals([0, 1, 2])}, nodes=told)
    assert (row["status"], row["reason_code"]) == ("failed", "E-VERSIONS-DIFFER")
