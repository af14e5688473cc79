"""Tests for counts of lost, duplicate, reordered and refused messages; the counts do not depend on latencies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.model.trial import TrialResult
from tests.analysis.made import MS, US, analyse_trials, arrivals, cell, messages, run_of
from tests.coded import lacking
from tests.store.raw import write_raw

COUNTS = ("sent", "received", "lost", "duplicated", "reordered", "abandoned", "stray")


def counts(row: dict[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in COUNTS if row[name]}


@pytest.mark.parametrize(
    ("seqs", "expected"),
    [
        ([0, 1, 2, 3, 4, 5], {"sent": 6, "received": 6}),
        ([0, 1, 4, 5], {"sent": 6, "received": 4, "lost": 2}),
        ([], {"sent": 6, "lost": 6}),
        ([0, 1, 1, 2, 3, 4, 5, 1], {"sent": 6, "received": 6, "duplicated": 2}),
        # RFC 4737: after message 3, the next expected number is 4, so 1 and 2 are reordered and 4 is not.
        ([0, 3, 1, 2, 4, 5], {"sent": 6, "received": 6, "reordered": 2}),
        ([1, 0, 3, 2, 5, 4], {"sent": 6, "received": 6, "reordered": 3}),
        # A second copy counts as a duplicate, but not as reordered.
        ([0, 2, 1, 2, 0, 5], {"sent": 6, "received": 4, "lost": 2, "duplicated": 2, "reordered": 1}),
        ([0, 1, 2, 3, 4, 5, 6], {"sent": 6, "received": 6, "stray": 1}),
    ],
)
def test_what_arrived_is_counted_exactly(seqs: list[int], expected: dict[str, int], tmp_path: Path) -> None:
    assert counts(analyse_trials(tmp_path, cell(), {0: messages(6), 1: arrivals(seqs)})) == expected


def test_counts_of_trials_and_pairs_add_up(tmp_path: Path) -> None:
    one = {0: messages(6), 1: arrivals([0, 1]), 2: messages(6), 3: arrivals([0, 2, 1, 3, 3, 4, 5])}
    row = analyse_trials(tmp_path, cell(pairs=2, trials=2), one, one)
    assert counts(row) == {"sent": 24, "received": 16, "lost": 8, "duplicated": 2, "reordered": 2}


def test_each_sink_is_owed_each_message(tmp_path: Path) -> None:
    row = analyse_trials(tmp_path, cell(sinks=2), {0: messages(4), 1: arrivals([0, 1, 2, 3]), 2: arrivals([0, 2])})
    assert counts(row) == {"sent": 4, "received": 6, "lost": 2}
    assert row["response_count"] == 2, "a message that did not reach every sink has no last arrival"


def test_a_message_refused_to_the_end_is_abandoned_and_lost(tmp_path: Path) -> None:
    sent = messages(6)
    del sent[2]["sent"]
    row = analyse_trials(tmp_path, cell(), {0: sent, 1: arrivals([0, 1, 3, 4, 5])})
    assert counts(row) == {"sent": 5, "received": 5, "lost": 1, "abandoned": 1}
    assert row["response_count"] == 5


def test_what_a_relay_could_not_pass_on_is_abandoned_and_lost_once(tmp_path: Path) -> None:
    relayed = [{"seq": seq, "arrived": seq * MS + 20 * US, "forwarded": seq * MS + 30 * US} for seq in range(6)]
    del relayed[4]["forwarded"]
    row = analyse_trials(tmp_path, cell(relays=1), {0: messages(6), 1: relayed, 2: arrivals([0, 1, 2, 3, 5])})
    assert counts(row) == {"sent": 6, "received": 5, "lost": 1, "abandoned": 1}
    assert row["hop_count"] == 11


def test_a_call_without_a_reply_is_lost(tmp_path: Path) -> None:
    asked = [row | {"arrived": row["sent"] + 80 * US} for row in messages(5)]
    del asked[3]["arrived"]
    served = [{"seq": seq, "arrived": seq * MS + 30 * US, "forwarded": seq * MS + 40 * US} for seq in range(5)]
    row = analyse_trials(tmp_path, cell(pattern="rpc"), {0: asked, 1: served})
    assert counts(row) == {"sent": 5, "received": 4, "lost": 1}
    assert row["server_count"] == 5


def test_what_the_nodes_counted_is_summed(tmp_path: Path) -> None:
    nodes = [
        {"version": "1.2", "endpoints": [{"role": "source", "sent": 4, "busy": 3, "copies": 0}]},
        {"version": "1.2", "endpoints": [{"role": "relay", "sent": 4, "busy": 2, "copies": 4, "malformed": 1}]},
    ]
    relayed = [{"seq": seq, "arrived": seq * MS + 20, "forwarded": seq * MS + 30} for seq in range(4)]
    row = analyse_trials(tmp_path, cell(relays=1), {0: messages(4), 1: relayed, 2: arrivals([0, 1, 2, 3])}, nodes=nodes)
    assert (row["busy"], row["malformed"], row["forward_copies_per_message"], row["library_version"]) == (
        5,
        1,
        0.5,
        "1.2",
    )


def test_what_a_transport_did_otherwise_is_told_once(tmp_path: Path) -> None:
    nodes = [{"endpoints": [], "facts": {"fallback": "UDP, for there is no shared memory"}}] * 2
    row = analyse_trials(tmp_path, cell(), {0: messages(4), 1: arrivals([0, 1, 2, 3])}, nodes=nodes)
    assert row["warnings"] == ["UDP, for there is no shared memory [W-FALLBACK]"]
    assert row["warning_codes"] == ["W-FALLBACK"]


def test_a_process_that_was_stopped_is_named_with_how_long(tmp_path: Path) -> None:
    nodes = [
        {"endpoints": [{"role": "source"}]},
        {"endpoints": [{"role": "sink"}], "stopped_s": 10.04},
        {"endpoints": [], "facts": {"broker": "mosquitto"}, "stopped_s": 0.5},
    ]
    row = analyse_trials(tmp_path, cell(), {0: messages(4), 1: arrivals([0, 1, 2, 3])}, nodes=nodes)
    assert row["status"] == "ok"
    assert row["warnings"] == [
        "node 1 (sink) was stopped for 10 s in trial 0 [W-PROCESS-STOPPED]",
        "mosquitto was stopped for 0.5 s in trial 0 [W-PROCESS-STOPPED]",
    ]


def test_what_a_loss_is_due_to_is_told_where_something_was_lost(tmp_path: Path) -> None:
    nodes = [{"endpoints": [], "facts": {"loss": "the segment is small"}}] * 2
    lossy = analyse_trials(tmp_path / "lossy", cell(), {0: messages(4), 1: arrivals([0, 1, 3])}, nodes=nodes)
    whole = analyse_trials(tmp_path / "whole", cell(), {0: messages(4), 1: arrivals([0, 1, 2, 3])}, nodes=nodes)
    assert (lossy["warnings"], whole["warnings"]) == (["the segment is small [W-LOSS-CAUSE]"], [])


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({}, ["W-FEW-MESSAGES 4 1000 30 s"]),
        ({"messages": 4}, []),
        ({"timed": True}, []),
        ({"pace": "open", "rate_hz": 1000.0}, []),
    ],
)
def test_messages_that_there_was_no_time_for_are_told(
    tmp_path: Path, changes: dict[str, Any], warnings: list[str]
) -> None:
    nodes = [{"endpoints": [{"role": "source", "sent": 4, "limit_reached": True}]}]
    made = cell(**{"pace": "max", "rate_hz": None, "limit_s": 30.0, **changes})
    row = analyse_trials(tmp_path, made, {0: messages(4), 1: arrivals([0, 1, 2, 3])}, nodes=nodes)
    assert [lacking(*each) for each in zip(row["warnings"], warnings, strict=True)] == [[] for _ in warnings]


def test_altered_payloads_fail_their_trial(tmp_path: Path) -> None:
    nodes = [{"endpoints": [{"role": "sink", "content_errors": 2}]}]
    row = analyse_trials(tmp_path, cell(), {0: messages(4), 1: arrivals([0, 1, 2, 3])}, nodes=nodes)
    assert (row["status"], row["content_errors"]) == ("failed", 2)
    assert lacking(row["reason"], "E-CONTENT 2") == []


def test_a_trial_that_was_measured_again_is_in_no_result(tmp_path: Path) -> None:
    folder = run_of(tmp_path, cell(trials=3))
    for number, (many, in_round) in enumerate(((20, 0), (30, 1), (20, 1))):
        files = [
            write_raw(folder.path / f"{who}.raw", who, records)
            for who, records in ((0, messages(many)), (1, arrivals(range(many))))
        ]
        folder.add_trial(TrialResult(cell().id, number, good=True, round=in_round, steal_share=0.4), files)
    row = analyse_run(folder)[0]
    assert (row["status"], row["reason"], row["received"]) == ("ok", None, 40)
    assert (row["trials_good"], row["trials_repeated"]) == (2, 1)
    folder.finish([row])
    stored = pl.read_parquet(folder.path / "trials.parquet")
    assert stored["good"].to_list() == [True, False, True]
    assert "[W-REPEATED]" in stored["reason"][1] and "40%" in stored["reason"][1]
