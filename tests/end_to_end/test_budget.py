"""Tests for runs with a budget, through the real command."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from tests.command import Ran, running
from tests.waiting import wait_for

SCENARIO = """
title = "Two transports"
question = "Which is faster?"
transport = ["shm", "unix"]
language = "rust"
cores = "free"
messages = 30
warmup = 2
drain = "10ms"
seed = 3
"""
OUT = ("--no-report", "--out", "here")


def rounds(folder: Path) -> dict[str, list[int]]:
    """Return the number of rounds of each cell."""
    found: dict[str, list[int]] = {}
    for row in pq.read_table(folder / "trials.parquet").to_pylist():
        found.setdefault(row["cell"], []).append(row["round"])
    return found


def test_rounds_continue_within_the_budget(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(f'{SCENARIO}budget = "6s"\n')
    began = time.monotonic()
    ran = run_in("run", "two.toml", "--json", *OUT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert time.monotonic() - began < 60
    found = rounds(tmp_path / "here")
    assert len(found) == 2 and all(each == list(range(len(each))) and len(each) >= 3 for each in found.values())
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert [row["trials"] for row in rows] == [row["trials_good"] for row in rows]
    looks = json.loads((tmp_path / "here" / "run.json").read_text())["looks"]
    assert set(looks) == {row["group"] for row in rows}


def test_a_budget_that_is_too_short_says_so_before_it_begins(hopmeter_here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    ran = hopmeter_here("run", "two.toml", "--budget", "500ms", *OUT)
    assert ran.returncode == 2
    assert "E-BUDGET-SHORT" in ran.stderr and "--budget 2s" in ran.stderr
    assert not list(tmp_path.glob("*here*"))


def test_ctrl_c_keeps_and_shows_what_is_finished_and_the_run_can_go_on(
    run_in: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO.replace("30", "300"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "COLUMNS": "160"}
    words = ("run", "two.toml", "--budget", "15s", "--until", "±1%", *OUT)
    lines = tmp_path / ".here.partial" / "trials.jsonl"
    with running(*words, cwd=tmp_path, env=environment) as process:
        wait_for(lambda: process.poll() is not None or (lines.exists() and lines.read_text().count("\n") >= 9))
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    before = rounds(tmp_path / ".here.partial")
    assert all(len(each) >= 4 for each in before.values())
    assert "shm" in shown and "unix" in shown and "--resume" in shown
    ran = run_in("run", "--resume", "here", "--no-report")
    assert ran.returncode == 0, ran.stderr
    after = rounds(tmp_path / "here")
    for cell, earlier in before.items():
        assert after[cell][: len(earlier)] == earlier
        assert min(after[cell][len(earlier) :]) > max(max(each) for each in before.values())
