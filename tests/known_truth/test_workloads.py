"""Messages of a workload between processes in three languages cause each other at the planned times."""

from __future__ import annotations

import numpy as np
import pytest

from tests.known_truth.workloads import Trial, measure_workload

pytestmark = pytest.mark.slow

DELAY_US = 3000
LATE_US = 2500
"""The extra delay per hop that a busy machine may add to a median."""
MARGIN_US = 200_000
"""How far planned hits and misses are from the deadline, which is more than a busy machine delays a thread."""

DEADLINES = """
[participant]
first = { language = "c++" }
second = { language = "rust" }
third = { language = "python" }
[flow]
forth = { from = "first", to = "second", rate = 40, deadline = "300ms" }
back = { from = "second", to = "third", rate = 40, deadline = "300ms" }
around = { from = "third", to = ["first", "second"], rate = 40, deadline = "300ms" }
calls = { from = "third", call = "first", rate = 2, deadline = "150ms" }
none = { from = "first", to = "third", rate = 40 }
"""

GRAPH = """
[participant]
camera = { language = "c++" }
detector = { language = "rust" }
planner = { language = "python" }
[flow]
frames = { from = "camera", to = "detector", rate = 50, payload = "bytes:5000", touch = "write+read" }
objects = { from = "detector", to = "planner", after = "frames" }
orders = { from = "planner", to = "camera", after = "objects" }
third = { from = "detector", to = "camera", after = "frames", every = 3 }
state = { from = "planner", to = "detector", rate = 20 }
fused = { from = "detector", to = "planner", after = ["frames", "state"], join = "all" }
either = { from = "detector", to = "planner", after = ["frames", "state"] }
control = { from = "detector", to = "camera", rate = 100, latest = "state" }
ask = { from = "camera", call = "planner", rate = 20 }
nested = { from = "planner", call = "detector", during = "ask" }
[path]
reaction = { flows = ["frames", "objects", "orders"], deadline = "500ms" }
based = { flows = ["state", "control"] }
"""

THREADS = """
[participant]
hub = { language = "c++" }
many_rust = { language = "rust" }
many_cpp = { language = "c++" }
many_python = { language = "python" }
one_rust = { language = "rust", threads = 1 }
one_cpp = { language = "c++", threads = 1 }
one_python = { language = "python", threads = 1 }
[flow]
slow = { from = "hub", to = [NAMES], rate = 4 }
quick = { from = "hub", to = [NAMES], rate = 200 }
"""
NAMES = [f"{many}_{language}" for many in ("many", "one") for language in ("rust", "cpp", "python")]
WORKED = 'worked_{name} = {{ from = "{name}", to = "hub", after = "slow", work = "spin:20ms" }}\n'


@pytest.fixture(scope="module")
def deadlines(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    plan = f"delay_us = {300_000 - MARGIN_US}, late_every = 10, late_us = {2 * MARGIN_US}"
    return measure_workload(tmp_path_factory.mktemp("deadlines"), DEADLINES, plan, drain="1500ms")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return measure_workload(tmp_path_factory.mktemp("graph"), GRAPH, f"delay_us = {DELAY_US}")


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    flows = THREADS.replace("NAMES", ", ".join(f'"{name}"' for name in NAMES))
    worked = "".join(WORKED.format(name=name) for name in NAMES)
    return measure_workload(tmp_path_factory.mktemp("threads"), flows + worked, "delay_us = 1000")


@pytest.mark.parametrize("flow", ["forth", "back", "around"])
def test_exactly_the_planned_messages_miss_the_deadline(deadlines: Trial, flow: str) -> None:
    row = deadlines.rows[flow]
    assert (row["lost"], row["missed"], row["missed_in_a_row"], row["deadline_us"]) == (0, 4, 1, 300_000)
    assert row["missed_share"] == pytest.approx(0.1)
    due, arrived = deadlines.times(flow, 0, "due_ns"), deadlines.times(flow, 1, "arrived_ns")
    late = [seq for seq in due if arrived[seq] - due[seq] > 300_000_000]
    assert late == [9, 19, 29, 39]


def test_a_call_has_until_its_reply_to_meet_the_deadline(deadlines: Trial) -> None:
    row = deadlines.rows["calls"]
    assert (row["received"], row["lost"]) == (2, 0)
    assert row["missed"] == 2, "request and reply take 100 ms each"


def test_a_flow_without_a_deadline_has_no_misses(deadlines: Trial) -> None:
    assert deadlines.rows["none"]["missed"] is None
    assert deadlines.rows[""]["missed"] == 14


def test_nothing_is_lost_and_all_clocks_send_for_the_same_time(graph: Trial) -> None:
    assert [row["lost"] for row in graph.rows.values()] == [0] * 13
    received = {name: graph.rows[name]["received"] for name in ("frames", "state", "control", "ask")}
    assert received == {"frames": 50, "state": 20, "control": 100, "ask": 20}


def test_the_latency_of_a_path_is_the_sum_of_its_flows(graph: Trial) -> None:
    row = graph.rows["reaction"]
    assert row["received"] == 50 and row["missed"] == 0
    assert row["reaction_min_us"] >= 3 * DELAY_US
    assert row["reaction_p50_us"] <= 3 * (DELAY_US + LATE_US)
    assert row["data_age_p50_us"] == pytest.approx(row["reaction_p50_us"]), "each message has exactly one effect"


@pytest.mark.parametrize(("flow", "cause"), [("objects", "frames"), ("orders", "objects"), ("nested", "ask")])
def test_each_arrival_causes_one_message(graph: Trial, flow: str, cause: str) -> None:
    count = graph.rows[cause]["received"]
    assert graph.causes(flow, cause) == {seq: seq for seq in range(count)}
    due, arrived = graph.times(flow, 0, "due_ns"), graph.times(cause, 1, "arrived_ns")
    assert due == arrived, "a message is due when its cause arrives"


def test_every_third_arrival_causes_a_message(graph: Trial) -> None:
    assert graph.causes("third", "frames") == {seq: 3 * seq + 2 for seq in range(16)}
    assert graph.rows["third"]["received"] == 16


def test_a_join_of_all_waits_for_one_message_of_each_flow(graph: Trial) -> None:
    frames, state = graph.causes("fused", "frames"), graph.causes("fused", "state")
    assert list(frames) == list(state) == list(range(graph.rows["fused"]["received"]))
    assert 18 <= len(state) <= 20, "as many as the slower flow has"
    assert all(np.diff(list(frames.values())) > 0) and all(np.diff(list(state.values())) > 0)
    due = graph.times("fused", 0, "due_ns")
    arrived = graph.times("frames", 1, "arrived_ns"), graph.times("state", 1, "arrived_ns")
    assert all(due[seq] == max(arrived[0][frames[seq]], arrived[1][state[seq]]) for seq in due)


def test_a_join_of_any_sends_for_each_arrival(graph: Trial) -> None:
    frames, state = graph.causes("either", "frames"), graph.causes("either", "state")
    assert (sorted(frames.values()), sorted(state.values())) == (list(range(50)), list(range(20)))
    assert not frames.keys() & state.keys()


def test_a_message_of_latest_is_based_on_the_newest_arrival(graph: Trial) -> None:
    causes, arrived = graph.causes("control", "state"), graph.times("state", 1, "arrived_ns")
    due, sent = graph.times("control", 0, "due_ns"), graph.times("control", 0, "sent_ns")
    assert 80 <= len(causes) <= 100, "before the first state arrives there is nothing to be based on"
    for seq, cause in causes.items():
        assert arrived[cause] <= sent[seq]
        assert cause == 19 or arrived[cause + 1] >= due[seq]


def test_the_age_of_what_a_control_loop_uses_is_up_to_its_period(graph: Trial) -> None:
    row = graph.rows["based"]
    assert row["data_age_min_us"] >= 2 * DELAY_US
    assert row["data_age_max_us"] >= 2 * DELAY_US + 30_000, "20 Hz: the last of five messages uses data of 40 ms before"
    assert row["reaction_min_us"] >= 2 * DELAY_US


def test_a_nested_call_is_made_while_the_outer_one_is_served(graph: Trial) -> None:
    arrived, replied = graph.times("ask", 1, "arrived_ns"), graph.times("ask", 1, "forwarded_ns")
    sent, back = graph.times("nested", 0, "sent_ns"), graph.times("nested", 0, "arrived_ns")
    assert len(sent) == 20
    assert all(arrived[seq] <= sent[seq] < back[seq] <= replied[seq] for seq in sent)
    assert graph.rows["ask"]["response_min_us"] >= 4 * DELAY_US, "both calls, there and back"


def meanwhile(threads: Trial, name: str) -> int:
    """Return how many messages of the other flow a participant handles while the participant processes a slow
    message."""
    place = 1 + NAMES.index(name)
    begun, done = threads.times("slow", place, "arrived_ns"), threads.times(f"worked_{name}", 0, "sent_ns")
    assert len(done) == 4 and all(done[seq] - begun[seq] >= 20_000_000 for seq in done)
    quick = threads.times("quick", place, "arrived_ns").values()
    return sum(begun[seq] < arrived < done[seq] for seq in done for arrived in quick)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("one")])
def test_work_of_a_participant_with_one_thread_delays_its_other_flow(threads: Trial, name: str) -> None:
    assert meanwhile(threads, name) == 0
    place = 1 + NAMES.index(name)
    sent, arrived = threads.times("quick", 0, "sent_ns"), threads.times("quick", place, "arrived_ns")
    assert max(arrived[seq] - sent[seq] for seq in arrived) >= 14_000_000, (
        "one message in 5 ms waits for almost all work"
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("many")])
def test_work_of_a_participant_with_a_thread_for_each_flow_delays_no_other_flow(threads: Trial, name: str) -> None:
    assert meanwhile(threads, name) >= 4, "about four in 20 ms, four times"
