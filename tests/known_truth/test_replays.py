"""A recording with planned gaps and sizes is replayed in three languages with the same due times and bytes."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from hopmeter.store.run_folder import RunFolder
from tests.known_truth.workloads import Trial, measure_workload
from tests.recordings.made import START_NS, payload, write_mcap, write_ros1, write_ros2

MS = 1_000_000
GAPS_MS = [0, 3, 0, 40, 11, 1, 0, 25, 80, 7]
"""The gap before each message. After the last message, the recording repeats after the mean gap."""
SIZES = [70_000, 0, 1, 33_000, 64, 63, 20_000, 70_001, 5, 16_384]
TIMES_MS = list(itertools.accumulate(GAPS_MS))
MESSAGES = [
    (START_NS + time * MS, payload(place, size)) for place, (time, size) in enumerate(zip(TIMES_MS, SIZES, strict=True))
]
WORKLOAD = """
checksum = true
[participant]
first = {{ language = "c++" }}
second = {{ language = "rust" }}
third = {{ language = "python" }}
[flow]
once = {{ from = "first", to = ["second", "third"], replay = "{mcap}:/t", touch = "write+read" }}
twice = {{ from = "second", to = ["third", "first"], replay = "{bag}:/t", speed = 2.0 }}
looped = {{ from = "third", to = ["first", "second"], replay = "{ros2}:/t", loop = true }}
calls = {{ from = "first", call = "third", replay = "{mcap}:/t", speed = 0.5 }}
other = {{ from = "third", to = "second", replay = "{mcap}:/other" }}
after = {{ from = "second", to = "first", after = "once" }}
"""
OTHER_MS = [5, 30, 90]
"""The due times of the messages of another topic in the same recording."""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    folder = tmp_path_factory.mktemp("replays")
    topics = {"/t": MESSAGES, "/other": [(START_NS + time * MS, b"other") for time in OTHER_MS]}
    paths = {
        "mcap": write_mcap(folder / "one.mcap", topics),
        "bag": write_ros1(folder / "one.bag", topics),
        "ros2": write_ros2(folder / "one", topics, "MCAP"),
    }
    return measure_workload(folder, WORKLOAD.format(**paths), "delay_us = 1000")


def due_ms(trial: Trial, flow: str) -> list[float]:
    """Return the due times of a flow's messages, relative to the first message."""
    due = trial.times(flow, 0, "due_ns")
    return [(due[seq] - due[0]) / MS for seq in range(len(due))]


@pytest.mark.parametrize("flow", ["once", "twice", "looped", "calls", "after"])
def test_every_message_arrives_and_no_byte_differs(trial: Trial, flow: str) -> None:
    row = trial.rows[flow]
    assert (row["lost"], row["duplicated"], row["content_errors"]) == (0, 0, 0)
    targets = 2 if flow in ("once", "twice", "looped") else 1
    assert row["received"] == targets * len(due_ms(trial, flow))


def test_messages_are_due_as_recorded(trial: Trial) -> None:
    assert due_ms(trial, "once") == TIMES_MS
    assert due_ms(trial, "twice") == [time / 2 for time in TIMES_MS]
    assert due_ms(trial, "calls") == [time * 2 for time in TIMES_MS]


def test_a_loop_begins_again_after_the_mean_gap(trial: Trial) -> None:
    period_ms = TIMES_MS[-1] * len(SIZES) / (len(SIZES) - 1)
    expected = [begin * period_ms + time for begin in range(10) for time in TIMES_MS]
    found = due_ms(trial, "looped")
    assert found == pytest.approx([time for time in expected if time < 1000], abs=1e-5)
    assert len(found) > 5 * len(SIZES)


def test_all_recordings_begin_when_messages_count(trial: Trial) -> None:
    begins = {flow: trial.times(flow, 0, "due_ns")[0] for flow in ("once", "twice", "looped", "calls")}
    assert len(set(begins.values())) == 1


def test_topics_of_one_recording_keep_their_offset(trial: Trial) -> None:
    begin = trial.times("once", 0, "due_ns")[0]
    other = trial.times("other", 0, "due_ns")
    assert [(other[seq] - begin) / MS for seq in sorted(other)] == OTHER_MS


@pytest.mark.parametrize("flow", ["once", "twice", "looped"])
def test_each_receiver_counted_the_bytes_of_the_recording(trial: Trial, flow: str) -> None:
    many = len(due_ms(trial, flow))
    expected = sum(SIZES[seq % len(SIZES)] for seq in range(many))
    for place in (1, 2):
        assert tally(trial, flow, place)["received_bytes"] == expected
        assert tally(trial, flow, place)["content_checks"] >= many


def tally(trial: Trial, flow: str, place: int) -> dict[str, Any]:
    """Return the counts of a receiver."""
    [result] = RunFolder.open(trial.samples.parents[1]).trials
    ends = [end for node in result.nodes for end in node["endpoints"]]
    return next(end for end in ends if end["id"] == trial.end(flow, place))


def test_throughput_and_sizes_are_those_of_the_recording(trial: Trial) -> None:
    row = trial.rows["once"]
    mean = sum(SIZES) / len(SIZES)
    assert (row["payload_bytes"], row["largest_payload_bytes"]) == (round(mean), max(SIZES))
    assert row["pace"] == "replay" and row["payload"] == "replay:one.mcap:/t"
    due, arrived = (
        trial.times("once", 0, "due_ns"),
        np.array([time for place in (1, 2) for time in trial.times("once", place, "arrived_ns").values()]),
    )
    seconds = (arrived.max() - due[0]) / 1e9
    assert row["achieved_mb_s"] == pytest.approx(2 * len(SIZES) * (64 + mean) / 1e6 / seconds, rel=0.01)


def test_a_followed_recording_causes_a_message_for_each_of_its_messages(trial: Trial) -> None:
    assert trial.causes("after", "once") == {seq: seq for seq in range(len(SIZES))}


def test_the_run_says_what_was_replayed_and_leaves_no_file(trial: Trial) -> None:
    folder = trial.samples.parents[1]
    found = json.loads((folder / "run.json").read_text())["recordings"]
    assert {flow: (one["messages"], one["topic"]) for flow, one in found.items()} == {
        "once": (10, "/t"),
        "twice": (10, "/t"),
        "looped": (len(due_ms(trial, "looped")), "/t"),
        "calls": (10, "/t"),
        "other": (3, "/other"),
    }
    assert len({one["sha256"] for one in found.values() if one["topic"] == "/t"}) == 1, (
        "the same messages in each kind of recording"
    )
    assert not list(folder.rglob("*.replay"))
