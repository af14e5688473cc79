"""A workload that ends early: nothing of it is left behind, and what was finished stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.failure.running import Traces, nodes_of, spec_of, wait_for_end
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
"""The number of this participant's node."""


@contextmanager
def measuring(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`hopmeter run` of the workload, with its output in pipes; its results go to `folder / "run"`."""
    (folder / "workload.toml").write_text(SCENARIO)
    words = ["run", str(folder / "workload.toml"), "--out", str(folder / "run"), "--no-report", "--json", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "hopmeter", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def trials_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]


def test_ctrl_c_leaves_nothing_and_the_run_goes_on_with_what_was_finished(tmp_path: Path) -> None:
    with measuring(tmp_path) as process:
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
    resumed = subprocess.run(
        [sys.executable, "-m", "hopmeter", "run", "--resume", str(tmp_path / "run"), "--no-report", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
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
    with measuring(tmp_path, "--transport", transport, "--trials", "2") as process:
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
