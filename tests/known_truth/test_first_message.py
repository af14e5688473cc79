"""The time to the first message, its parts and the losses before it are those that the transport `synthetic` plans."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.known_truth.measuring import Case, Measured, measure

pytestmark = pytest.mark.slow

DISCOVERY_MS = 80
ONCE: Case = {"begin": "at-once", "placement": "process", "cores": "free", "rate": 1000, "messages": 5000, "trials": 1}
CASES: dict[str, Case] = {
    "discovered": {**ONCE, "plan": {"discovery_ms": DISCOVERY_MS}},
    "python": {**ONCE, "language": "python", "wait": "spin", "plan": {"discovery_ms": DISCOVERY_MS}},
    "several": {**ONCE, "sinks": 3, "language": "c++", "wait": "callback", "plan": {"discovery_ms": DISCOVERY_MS}},
    "threads": {**ONCE, "sinks": 2, "placement": "thread", "plan": {}},
    "never": {**ONCE, "messages": 100, "plan": {"discovery_ms": 3_600_000}},
}
MET = [name for name in CASES if name != "never"]
PLANNED = [name for name in MET if CASES[name]["plan"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measure(tmp_path_factory.mktemp("first-message"), CASES, drain="50ms")


def trial(run: Measured, name: str) -> dict[str, Any]:
    (found,) = pq.read_table(run.folder / "trials.parquet", filters=[("cell", "=", run.rows[name]["cell"])]).to_pylist()
    return dict(found)


def samples(run: Measured, name: str) -> list[dict[str, Any]]:
    return list(pq.read_table(run.folder / "samples" / f"{run.rows[name]['cell']}-0.parquet").to_pylist())


@pytest.mark.parametrize("name", MET)
def test_the_moments_follow_each_other_and_the_parts_add_up(run: Measured, name: str) -> None:
    row, moments = run.rows[name], trial(run, name)
    assert row["status"] == "ok" and row["begin"] == "at-once"
    assert moments["spawned_ns"] < moments["loaded_ns"] < moments["opened_ns"]
    parts = [row[each] for each in ("launch_us", "opening_us", "discovery_us")]
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(row["first_message_min_us"], abs=0.01)
    took_ns = moments["first_arrival_ns"] - moments["spawned_ns"]
    assert row["first_message_max_us"] == pytest.approx(took_ns / 1000, abs=0.01)


@pytest.mark.parametrize("name", PLANNED)
def test_the_discovery_is_as_long_as_planned_and_loses_what_departed_before_its_end(run: Measured, name: str) -> None:
    row, rows, moments = run.rows[name], samples(run, name), trial(run, name)
    # The receiver's plan begins when the receiver is open, just before the instrument reads the time.
    assert row["discovery_us"] >= DISCOVERY_MS * 1000 - 1000
    sinks = CASES[name].get("sinks", 1)
    endpoints = [each for node in json.loads(moments["nodes"]) for each in node["endpoints"]]
    opened_ns = {each["id"]: each["opened_ns"] for each in endpoints if each["role"] == "sink"}
    assert len(opened_ns) == sinks and max(opened_ns.values()) == moments["opened_ns"]
    sent = [each for each in rows if each["endpoint"] == 0]
    planned = [sum(each["sent_ns"] < at + DISCOVERY_MS * 1_000_000 for each in sent) for at in opened_ns.values()]
    assert row["lost_at_start"] == pytest.approx(max(planned), abs=1)
    due_before = sum(each["due_ns"] < moments["opened_ns"] for each in sent)
    assert row["lost_after_open"] == pytest.approx(row["lost_at_start"] - due_before, abs=1)
    first = {at: min(each["arrived_ns"] for each in rows if each["endpoint"] == at) for at in opened_ns}
    assert max(first.values()) == moments["first_arrival_ns"]


@pytest.mark.parametrize("name", MET)
def test_a_trial_ends_with_its_first_message(run: Measured, name: str) -> None:
    assert run.rows[name]["sent"] < CASES[name]["messages"]


def test_a_receiver_that_is_never_discovered_gets_no_message(run: Measured) -> None:
    row = run.rows["never"]
    assert (row["sent"], row["received"], row["lost"]) == (100, 0, 100)
    assert (row["first_message_lost"], row["median_us"], row["discovery_us"]) == (1, None, None)
    assert trial(run, "never")["first_arrival_ns"] is None
