"""If a reader is slower than the message interval, the messages' age grows as planned."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.known_truth.workloads import Trial, measure_workload

PERIOD_MS, WORK_MS = 10, 20
GROWTH_MS_PER_S = 1000 * (WORK_MS - PERIOD_MS) / PERIOD_MS
"""How far the reader falls behind per second: by 10 ms every 10 ms."""
READERS = ("rust", "cpp", "python")
FLOWS = """
[participant]
sender = { language = "rust" }
rust = { language = "rust" }
cpp = { language = "c++" }
python = { language = "python" }
idle = { language = "rust" }
[flow]
rust_slow = { from = "sender", to = "rust", rate = 100, receiver_work = "sleep:20ms", deadline = "200ms" }
cpp_slow = { from = "sender", to = "cpp", rate = 100, receiver_work = "sleep:20ms", deadline = "200ms" }
python_slow = { from = "sender", to = "python", rate = 100, receiver_work = "sleep:20ms", deadline = "200ms" }
quick = { from = "sender", to = "idle", rate = 100, receiver_work = "sleep:1ms" }
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return measure_workload(tmp_path_factory.mktemp("slow"), FLOWS, "delay_us = 0", drain="3s")


@pytest.mark.parametrize("reader", READERS)
def test_the_age_of_messages_grows_by_what_the_reader_is_too_slow(trial: Trial, reader: str) -> None:
    row = trial.rows[f"{reader}_slow"]
    assert (row["status"], row["lost"], row["received"]) == ("ok", 0, 100)
    assert row["warning_codes"] == ["W-READER-BEHIND"]
    assert row["backlog_ms_per_s"] == pytest.approx(GROWTH_MS_PER_S, rel=0.3)


@pytest.mark.parametrize("reader", READERS)
def test_such_a_flow_has_the_age_of_its_messages_as_its_latency(trial: Trial, reader: str) -> None:
    row = trial.rows[f"{reader}_slow"]
    assert row["median_us"] >= 1000 * 49 * (WORK_MS - PERIOD_MS), "the middle one of 100 waits for 49 before it"
    assert row["missed"] >= 79, "the 21st message and all later ones are older than 200 ms"


def test_a_reader_that_keeps_up_has_no_backlog(trial: Trial) -> None:
    row = trial.rows["quick"]
    assert (row["status"], row["backlog_ms_per_s"], row["warning_codes"]) == ("ok", None, [])


def test_the_whole_counts_the_deadlines_of_all_flows(trial: Trial) -> None:
    row = trial.rows[""]
    parts = [trial.rows[f"{reader}_slow"] for reader in READERS]
    assert row["status"] == "ok"
    assert row["missed"] == sum(part["missed"] for part in parts)
    assert row["missed_share"] == pytest.approx(row["missed"] / 300)
    assert row["missed_part"] in {f"{reader}_slow" for reader in READERS}
    assert (row["median_us"], row["response_p50_us"]) == (None, None)


def test_each_participant_has_its_own_resources(trial: Trial) -> None:
    folder: Path = trial.samples.parents[1]
    used = {row["name"]: row for row in pq.read_table(folder / "processes.parquet").to_pylist()}
    assert set(used) == {"sender", "rust", "cpp", "python", "idle"}
    languages = {name: row["language"] for name, row in used.items()}
    assert (languages["cpp"], languages["python"]) == ("c++", "python")
    whole = sum((row["user_us"] + row["system_us"] - row["spun_us"]) / row["interval_s"] / 1e4 for row in used.values())
    assert trial.rows[""]["cpu_core_percent"] == pytest.approx(whole, rel=0.01)
    flows = [row for row in trial.rows.values() if row["flow"]]
    assert {row["cpu_us_per_message"] for row in flows} == {None}, "a process cannot tell its flows apart"
