"""A path over two transports and three languages takes the planned time plus the bridge's time."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from hopmeter.store.causes import read_causes
from tests.known_truth.workloads import Trial, measure_workload

pytestmark = pytest.mark.slow

FAST_US, SLOW_US = 3000, 8000
LATE_US = 2500
"""The extra delay per hop that a busy machine may add to a median."""

OWN = f'transport = "synthetic", settings = {{ delay_us = {SLOW_US} }}'
GRAPH = f"""
[participant]
camera = {{ language = "c++" }}
rusty = {{ language = "rust" }}
cpp = {{ language = "c++", wait = "callback" }}
snake = {{ language = "python" }}
motor = {{}}
[flow]
frames = {{ from = "camera", to = ["rusty", "cpp", "snake"], rate = 40, payload = "bytes:20000", {OWN} }}
from_rust = {{ from = "rusty", to = "motor", after = "frames", work = "spin:1ms" }}
from_cpp = {{ from = "cpp", to = "motor", after = "frames", every = 2 }}
from_python = {{ from = "snake", to = "motor", after = "frames" }}
control = {{ from = "rusty", to = "motor", rate = 80, latest = "frames" }}
ask = {{ from = "camera", call = "snake", rate = 20, payload = "bytes:500", {OWN} }}
nested = {{ from = "snake", call = "rusty", during = "ask" }}
parts = {{ from = "snake", to = "camera", after = "ask", repeat = 3 }}
ping = {{ from = "camera", to = "cpp", pace = "closed", returns = "pong", {OWN} }}
pong = {{ from = "cpp", to = "camera", after = "ping" }}
[path]
through_rust = {{ flows = ["frames", "from_rust"], deadline = "500ms" }}
through_cpp = {{ flows = ["frames", "from_cpp"] }}
through_python = {{ flows = ["frames", "from_python"] }}
based = {{ flows = ["frames", "control"] }}
"""
LOSSY = """
[participant]
camera = { language = "c++" }
gateway = { language = "rust" }
motor = { language = "c++" }
[flow]
frames = { from = "camera", to = "gateway", rate = 10, transport = "synthetic", settings = { lose_every = 3 } }
orders = { from = "gateway", to = "motor", after = "frames" }
[path]
reaction = { flows = ["frames", "orders"], deadline = "60ms" }
"""
BRIDGES = {"frames>from_rust": "rusty", "frames>from_cpp": "cpp", "frames>from_python": "snake"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return measure_workload(tmp_path_factory.mktemp("bridges"), GRAPH, f"delay_us = {FAST_US}")


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return measure_workload(tmp_path_factory.mktemp("lossy"), LOSSY, f"delay_us = {FAST_US}")


def causes(trial: Trial, flow: str, bridge: str) -> dict[int, int]:
    """Return, for each message of a flow, the message that its bridge forwarded."""
    found = read_causes(trial.samples)
    mine = (found["endpoint"] == trial.end(flow, 0)) & (found["cause_endpoint"] == trial.end(bridge, 1))
    return dict(zip(found["seq"][mine].tolist(), found["cause_seq"][mine].tolist(), strict=True))


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_bridge_passes_each_message_on_and_is_measured_as_a_hop(graph: Trial, bridge: str) -> None:
    row = graph.rows[bridge]
    assert (row["transport"], row["received"], row["lost"], row["payload_bytes"]) == ("bridge", 40, 0, 20_000)
    assert row["content_errors"] == 0 and row["foreign"] == 0
    due, sent = graph.times(bridge, 0, "due_ns"), graph.times(bridge, 0, "sent_ns")
    arrived = graph.times(bridge, 1, "arrived_ns")
    place = 1 + list(BRIDGES).index(bridge)
    assert due == graph.times("frames", place, "arrived_ns"), "a message is due on the bridge when it arrives before it"
    assert all(due[seq] <= sent[seq] < arrived[seq] for seq in due)
    assert row["response_p50_us"] < LATE_US


def test_a_message_is_due_behind_the_bridge_when_it_arrives_there(graph: Trial) -> None:
    assert causes(graph, "from_rust", "frames>from_rust") == {seq: seq for seq in range(40)}
    assert causes(graph, "from_python", "frames>from_python") == {seq: seq for seq in range(40)}
    assert causes(graph, "from_cpp", "frames>from_cpp") == {seq: 2 * seq + 1 for seq in range(20)}
    assert graph.times("from_rust", 0, "due_ns") == graph.times("frames>from_rust", 1, "arrived_ns")


@pytest.mark.parametrize(("path", "work_us"), [("through_rust", 1000), ("through_cpp", 0), ("through_python", 0)])
def test_a_path_over_two_transports_takes_what_both_take_and_the_bridge(graph: Trial, path: str, work_us: int) -> None:
    planned_us = SLOW_US + FAST_US + work_us
    assert (graph.rows[path]["received"], graph.rows[path]["lost"]) == (40, 0)
    assert graph.rows[path]["data_age_min_us"] >= planned_us
    assert graph.rows[path]["data_age_p50_us"] <= planned_us + 3 * LATE_US


def test_the_parts_of_a_path_add_up_to_the_nanosecond(graph: Trial) -> None:
    first, last = graph.times("frames", 0, "due_ns"), graph.times("from_rust", 1, "arrived_ns")
    hops = [(name, place) for name, place in (("frames", 1), ("frames>from_rust", 1), ("from_rust", 1))]
    parts = [
        {seq: arrived - due[seq] for seq, arrived in graph.times(name, place, "arrived_ns").items()}
        for name, place in hops
        for due in [graph.times(name, 0, "due_ns")]
    ]
    assert {seq: last[seq] - first[seq] for seq in last} == {seq: sum(part[seq] for part in parts) for seq in last}


def test_a_message_of_latest_is_based_on_the_newest_message_behind_the_bridge(graph: Trial) -> None:
    found, arrived = causes(graph, "control", "frames>from_rust"), graph.times("frames>from_rust", 1, "arrived_ns")
    due, sent = graph.times("control", 0, "due_ns"), graph.times("control", 0, "sent_ns")
    assert len(found) >= 60
    assert all(arrived[cause] <= sent[seq] for seq, cause in found.items())
    assert all(cause == 39 or arrived[cause + 1] >= due[seq] for seq, cause in found.items())
    assert graph.rows["based"]["data_age_min_us"] >= SLOW_US + FAST_US


def test_a_nested_call_over_another_transport_ends_before_the_outer_call_is_answered(graph: Trial) -> None:
    arrived, replied = graph.times("ask", 1, "arrived_ns"), graph.times("ask", 1, "forwarded_ns")
    there, back = graph.times("ask>nested", 0, "sent_ns"), graph.times("ask>nested", 0, "arrived_ns")
    sent, answered = graph.times("nested", 0, "sent_ns"), graph.times("nested", 0, "arrived_ns")
    assert len(sent) == 20
    assert all(arrived[seq] <= there[seq] <= sent[seq] < answered[seq] <= back[seq] <= replied[seq] for seq in sent), (
        "the outer call, the bridge, the nested call, and all the way back"
    )
    assert graph.rows["ask>nested"]["response_min_us"] >= 2 * FAST_US, "the bridge waits for the nested call"
    assert graph.rows["ask"]["response_min_us"] >= 2 * SLOW_US + 2 * FAST_US


def test_a_streamed_reply_over_another_transport_ends_before_the_call_is_answered(graph: Trial) -> None:
    sent, replied = graph.times("parts", 0, "sent_ns"), graph.times("ask", 1, "forwarded_ns")
    assert causes(graph, "parts", "ask>nested") == {3 * seq + part: seq for seq in range(20) for part in range(3)}
    assert all(sent[3 * seq + 2] <= replied[seq] for seq in replied)


def test_a_message_is_sent_again_when_it_has_returned_over_another_transport(graph: Trial) -> None:
    back, due = graph.times("pong>ping", 1, "arrived_ns"), graph.times("ping", 0, "due_ns")
    assert graph.rows["pong>ping"]["lost"] == 0
    assert 3 < len(due) <= 1000 / (SLOW_US + FAST_US) * 1000 + 1
    assert all(due[seq + 1] >= back[seq] for seq in back if seq + 1 in due)


def test_a_participant_uses_what_its_processes_use(graph: Trial) -> None:
    run = graph.samples.parents[1]
    rows = pq.read_table(run / "processes.parquet").to_pylist()
    named = {(row["participant"], row["name"]) for row in rows}
    slow, fast = (f"synthetic delay_us={float(value)}" for value in (SLOW_US, FAST_US))
    assert {("rusty", f"rusty ({slow})"), ("rusty", f"rusty ({fast})"), ("motor", "motor")} <= named
    assert len(rows) == 9, "two of each participant, but one of the motor"


def test_a_trigger_that_is_lost_before_the_bridge_is_a_miss_of_the_path(lossy: Trial) -> None:
    frames, bridge, path = lossy.rows["frames"], lossy.rows["frames>orders"], lossy.rows["reaction"]
    assert (frames["received"], frames["lost"]) == (7, 3)
    assert (bridge["sent"], bridge["received"], bridge["lost"]) == (7, 7, 0)
    assert list(lossy.causes("frames>orders", "frames").values()) == [0, 1, 3, 4, 6, 7, 9]
    assert causes(lossy, "orders", "frames>orders") == {seq: seq for seq in range(7)}
    assert (path["missed"], path["missed_in_a_row"]) == (3, 1), "the next frame comes 100 ms later, the deadline 60 ms"
