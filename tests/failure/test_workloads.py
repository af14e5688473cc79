"""A workload that ends early leaves nothing behind, and keeps its finished trials."""

from __future__ import annotations

import json
import os
import resource
import signal
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.command import hopmeter
from tests.failure.running import Traces, measuring, nodes_of, spec_of, wait_for_end, without_privileges, words_of
from tests.waiting import wait_for, wait_for_trial

pytestmark = pytest.mark.slow

SCENARIO = """
title = "Failing"
question = "What is left of a workload that ends early?"
transport = ["unix", "synthetic"]
language = "rust"
wait = "block"
cores = "free"
duration = "700ms"
trials = 3
[participant]
camera = { language = "c++" }
detector = {}
planner = { language = "python", threads = 1 }
[flow]
frames = { from = "camera", to = ["detector", "planner"], rate = 100, payload = "bytes:20000", deadline = "50ms" }
objects = { from = "detector", to = "planner", after = "frames", work = "spin:1ms" }
ask = { from = "camera", call = "planner", rate = 20, concurrency = 3 }
nested = { from = "planner", call = "detector", during = "ask" }
parts = { from = "planner", to = "camera", after = "ask", repeat = 3 }
again = { from = "detector", call = "camera", after = "frames", concurrency = 2 }
ping = { from = "detector", to = "camera", pace = "closed", returns = "pong" }
pong = { from = "camera", to = "detector", after = "ping" }
[path]
reaction = { flows = ["frames", "objects"] }
"""
DETECTOR = 1


LOAD = """
[background]
cpu = "20%"
memory = "100MB/s"
"""


def load_of(launcher: psutil.Process) -> psutil.Process:
    """Wait for the background-load process of a running command, and return it."""

    def find() -> list[psutil.Process]:
        found = launcher.children(recursive=True)
        return [each for each in found if "hopmeter.node.background" in words_of(each)]

    return wait_for(find)[0]


def trials_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]


def test_ctrl_c_leaves_nothing_and_the_run_goes_on_with_what_was_finished(tmp_path: Path) -> None:
    with measuring(tmp_path, SCENARIO) as process:
        wait_for_trial(tmp_path / ".run.partial")
        nodes = nodes_of(psutil.Process(process.pid), 3)
        left = Traces(nodes)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"hopmeter run --resume {tmp_path}/" in said
    wait_for_end(nodes)
    assert left.paths() == []
    finished = [trial for trial in trials_of(tmp_path / ".run.partial") if trial["good"]]
    assert finished
    assert all((tmp_path / ".run.partial" / trial["samples"]).exists() for trial in finished)
    resumed = hopmeter("run", "--resume", tmp_path / "run", "--no-report", "--json")
    assert resumed.returncode == 0, resumed.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    assert {(row["transport"], row["flow"] or row["path"]): row["trials_good"] for row in rows} == {
        (transport, name): 3
        for transport in ("unix", "synthetic")
        for name in ("", "frames", "objects", "ask", "nested", "parts", "again", "ping", "pong", "reaction")
    }
    after = pq.read_table(tmp_path / "run/trials.parquet").to_pylist()
    assert {trial["start_ns"] for trial in finished} <= {trial["start_ns"] for trial in after}


@pytest.mark.parametrize("transport", ["unix", "synthetic"])
def test_a_participant_that_crashes_fails_its_trial_and_the_others_are_good(tmp_path: Path, transport: str) -> None:
    with measuring(tmp_path, SCENARIO, "--transport", transport, "--trials", "2") as process:
        nodes = nodes_of(psutil.Process(process.pid), 3)
        left = Traces(nodes)
        (victim,) = [node for node in nodes if spec_of(node)["node"] == DETECTOR]
        wait_for(lambda: victim.num_threads() >= len(spec_of(victim)["endpoints"]))
        victim.kill()
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    wait_for_end(nodes)
    assert left.paths() == []
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    assert [row["trials_good"] for row in rows] == [1] * 10
    assert lacking(rows[0]["reason"], f"W-TRIALS-FAILED 1 of 2 node {DETECTOR} ({transport} SIGKILL") == []
    assert rows[1]["received"] == 140, "what the good trial measured stays"


def test_ctrl_c_ends_the_background_load(tmp_path: Path) -> None:
    with measuring(tmp_path, SCENARIO + LOAD, "--transport", "synthetic") as process:
        nodes = nodes_of(psutil.Process(process.pid), 3)
        load = load_of(psutil.Process(process.pid))
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    wait_for_end([load, *nodes])


@pytest.mark.parametrize("moment", ["start", "trial"])
def test_a_killed_launcher_takes_the_background_load_along(tmp_path: Path, moment: str) -> None:
    with measuring(tmp_path, SCENARIO + LOAD, "--transport", "synthetic") as process:
        load = load_of(psutil.Process(process.pid))
        nodes = nodes_of(psutil.Process(process.pid), 3) if moment == "trial" else []
        process.kill()
        process.wait(10)
        wait_for_end([load, *nodes])


def test_a_background_load_that_ends_fails_its_trial_and_the_others_are_good(tmp_path: Path) -> None:
    with measuring(tmp_path, SCENARIO + LOAD, "--transport", "synthetic", "--trials", "2") as process:
        nodes = nodes_of(psutil.Process(process.pid), 3)
        wait_for(lambda: all(each.num_threads() >= len(spec_of(each)["endpoints"]) for each in nodes))
        load_of(psutil.Process(process.pid)).kill()
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    wait_for_end(nodes)
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    assert {row["trials_good"] for row in rows} == {1}
    assert lacking(rows[0]["reason"], "W-TRIALS-FAILED 1 of 2 background load has ended") == []
    assert rows[0]["background_cpu_percent"] is not None, "what the good trial achieved stays"


def test_a_priority_that_the_system_forbids_is_refused_with_participant_and_key(tmp_path: Path) -> None:
    def humble() -> None:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        without_privileges()

    text = SCENARIO.replace("detector = {}", "detector = { fifo = 10 }")
    (tmp_path / "workload.toml").write_text(text)
    words = ("run", tmp_path / "workload.toml", "--out", tmp_path / "run", "--no-report")
    done = hopmeter(*words, preexec_fn=humble)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, said
    assert lacking(said, "D-NO-REAL-TIME participant.detector.fifo 10 `rtprio` limits.conf") == []
    assert not (tmp_path / "run").exists()
