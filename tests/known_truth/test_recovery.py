"""After a restart, hopmeter measures the recovery, the losses and the repeated messages that `synthetic` plans."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from hopmeter.messages import codes
from tests.known_truth.measuring import Case, Measured, measure

pytestmark = pytest.mark.slow

RECOVERY_MS, PAUSE_MS = 300, 200
RESTART: Case = {"restart": "broker", "pause": f"{PAUSE_MS}ms", "placement": "process", "cores": "free", "rate": 1000}
RESTART |= {"messages": 1200, "warmup": 20, "trials": 1}
CASES: dict[str, Case] = {
    "recovers": {**RESTART, "plan": {"broker": True, "recovery_ms": RECOVERY_MS, "duplicate_every": 100}},
    "several": {**RESTART, "sinks": 2, "wait": "callback", "plan": {"broker": True, "recovery_ms": RECOVERY_MS}},
    "sink": {**RESTART, "restart": "sink", "plan": {"discovery_ms": RECOVERY_MS}},
    "never": {**RESTART, "plan": {"broker": True, "recovery_ms": 3_600_000}},
}
RECOVERED = [name for name in CASES if name != "never"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measure(tmp_path_factory.mktemp("recovery"), CASES, drain="50ms")


def trial(run: Measured, name: str) -> dict[str, Any]:
    (found,) = pq.read_table(run.folder / "trials.parquet", filters=[("cell", "=", run.rows[name]["cell"])]).to_pylist()
    return dict(found)


def samples(run: Measured, name: str) -> list[dict[str, Any]]:
    return list(pq.read_table(run.folder / "samples" / f"{run.rows[name]['cell']}-0.parquet").to_pylist())


@pytest.mark.parametrize("name", CASES)
def test_the_process_is_killed_after_an_eighth_of_the_messages_and_starts_again_after_the_pause(
    run: Measured, name: str
) -> None:
    moments = trial(run, name)
    assert run.rows[name]["status"] == "ok"
    due_before = sum(each["due_ns"] < moments["killed_ns"] for each in samples(run, name) if each["endpoint"] == 0)
    assert due_before >= CASES[name]["messages"] / 8
    assert moments["restarted_ns"] - moments["killed_ns"] >= PAUSE_MS * 1_000_000
    assert moments["ready_ns"] > moments["restarted_ns"]


@pytest.mark.parametrize("name", RECOVERED)
def test_the_recovery_is_as_long_as_planned_and_loses_what_departed_before_its_end(run: Measured, name: str) -> None:
    row, moments = run.rows[name], trial(run, name)
    took_us = (moments["recovered_ns"] - moments["restarted_ns"]) / 1000
    assert row["recovery_min_us"] == pytest.approx(took_us, abs=0.01)
    assert row["restart_us"] + row["reconnection_us"] == pytest.approx(took_us, abs=0.01)
    assert row["outage_us"] == pytest.approx((moments["recovered_ns"] - moments["killed_ns"]) / 1000, abs=0.01)
    # A receiver may connect before hopmeter finds the process ready, but not before the process starts.
    assert took_us >= RECOVERY_MS * 1000
    sent = [each for each in samples(run, name) if each["endpoint"] == 0]
    lost = sum(moments["killed_ns"] <= each["due_ns"] < moments["recovered_ns"] for each in sent)
    assert row["lost_by_restart"] == pytest.approx(lost, abs=0.02 * lost)
    assert row["lost_by_restart"] >= PAUSE_MS + RECOVERY_MS


def test_repeated_messages_are_counted(run: Measured) -> None:
    arrived = [each["seq"] for each in samples(run, "recovers") if each["endpoint"] == 1]
    planned = {seq for seq in arrived if seq % 100 == 99}
    assert run.rows["recovers"]["repeated_by_restart"] == len(planned) > 0
    assert run.rows["several"]["repeated_by_restart"] == 0


def test_of_a_restarted_sink_only_the_arrivals_at_the_new_process_are_known(run: Measured) -> None:
    row, moments = run.rows["sink"], trial(run, "sink")
    arrived_ns = [each["arrived_ns"] for each in samples(run, "sink") if each["endpoint"] == 1]
    assert min(arrived_ns) == moments["recovered_ns"]
    (opened_ns,) = [
        each["opened_ns"]
        for node in json.loads(moments["nodes"])
        for each in node["endpoints"]
        if each["role"] == "sink"
    ]
    assert moments["restarted_ns"] < opened_ns <= moments["ready_ns"]
    assert moments["recovered_ns"] >= opened_ns + (RECOVERY_MS - 1) * 1_000_000
    assert row["restart_us"] >= (opened_ns - moments["restarted_ns"]) / 1000


def test_a_transport_that_never_recovers_is_measured_as_that(run: Measured) -> None:
    row = run.rows["never"]
    assert (row["recovery_lost"], row["median_us"], row["outage_us"]) == (1, None, None)
    assert row["lost_by_restart"] >= CASES["never"]["messages"] / 2
    assert codes(row["warnings"]) == ["W-NOT-RECOVERED"]
    assert trial(run, "never")["recovered_ns"] is None
