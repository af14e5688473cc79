"""Tests for whole runs with the fake node."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from hopmeter.errors import HopmeterError
from hopmeter.messages import split_code
from hopmeter.runtime.executor import Executor
from hopmeter.runtime.why import MOST_MESSAGES, why_trials
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.why_folder import WhyFolder
from tests.coded import lacking

from .conftest import fake_capabilities, fake_plan

BREAKS = ["never", "exits"]


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunFolder]:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))

    def execute_plan(name: str = "run", folder: RunFolder | None = None, **given: Any) -> RunFolder:
        made = fake_plan(**given)
        about = {"cells": [cell.as_json() for cell in made.cells], "seed": made.seed}
        folder = folder or RunFolder.create(tmp_path, name, about)
        assert Executor(made, fake_capabilities(), folder, Console(file=io.StringIO())).run(folder.trials)
        return folder

    return execute_plan


def test_other_cells_go_on_when_one_fails_and_it_is_not_tried_for_ever(execute: Callable[..., RunFolder]) -> None:
    folder = execute(settings={"fake": {"breaks": BREAKS}}, trials=4)
    good = [trial for trial in folder.trials if trial.good]
    bad = folder.trials_of("c2-fake-rust")
    assert [trial.cell for trial in good] == ["c1-fake-rust"] * 4
    assert [split_code(trial.reason)[1] for trial in bad] == ["E-NODE-DIED"] * 2 + ["E-NOT-TRIED"] * 2
    assert "after 2 failures" in bad[3].reason and "exit code 3" in bad[3].reason
    assert all((folder.path / trial.samples).exists() for trial in good)


def test_a_run_goes_on_where_it_stopped(execute: Callable[..., RunFolder], tmp_path: Path) -> None:
    first = execute(settings={"fake": {"breaks": BREAKS}}, trials=1)
    starts = {trial.cell: trial.start_ns for trial in first.trials if trial.good}
    again = execute(folder=RunFolder.resume(tmp_path / "run"), settings={"fake": {"breaks": BREAKS}}, trials=2)
    assert len(again.trials) == 4
    assert again.trials_of("c1-fake-rust")[0].start_ns == starts["c1-fake-rust"]
    assert [trial.round for trial in again.trials_of("c1-fake-rust")] == [0, 2]
    assert [trial.round for trial in again.trials_of("c2-fake-rust")] == [1, 2]


def test_a_trial_has_its_round_and_the_steal_of_its_cores(execute: Callable[..., RunFolder]) -> None:
    folder = execute(settings={"fake": {"breaks": BREAKS}}, trials=1)
    good, bad = folder.trials_of("c1-fake-rust")[0], folder.trials_of("c2-fake-rust")[0]
    assert (good.round, bad.round) == (0, 0)
    assert good.steal_share is not None and 0 <= good.steal_share <= 1
    assert bad.steal_share is None


def test_a_run_that_cannot_be_written_says_so_and_leaves_nothing(
    execute: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hopmeter.store import run_folder as store

    def full(*_: object) -> None:
        raise store.DiskFullError("E-DISK-FULL", "the disk is full", "free space")

    monkeypatch.setattr(store, "append_lines", full)
    with pytest.raises(HopmeterError, match="E-DISK-FULL"):
        execute()
    assert not list((tmp_path / "home").rglob("live/*.json"))


def test_cpu_is_sampled_every_second_where_asked(execute: Callable[..., RunFolder]) -> None:
    folder = execute(sample_cpu=True, settings={"fake": {"breaks": "slower"}})
    rows = pq.read_table(folder.cpu_path("c1-fake-rust", 0)).to_pylist()
    assert {row["role"] for row in rows} == {"source", "sink", "launcher"}
    assert all(0 <= row["percent"] < 100 for row in rows)


def test_a_short_trial_has_one_cpu_sample_of_each_process(execute: Callable[..., RunFolder]) -> None:
    folder = execute(sample_cpu=True)
    rows = pq.read_table(folder.cpu_path("c1-fake-rust", 0)).to_pylist()
    assert sorted(row["role"] for row in rows) == ["launcher", "sink", "source"]


def test_the_extra_trial_for_why_is_stored_apart_and_its_failure_too(execute: Callable[..., RunFolder]) -> None:
    folder = execute(why=True, trials=2)
    assert [trial.trial for trial in folder.trials] == [0, 1]
    (result,) = WhyFolder(folder.path).results().values()
    assert (result.trial, result.good) == (2, False)
    assert not lacking(result.reason, "E-FILE-DAMAGED"), "the fake node writes no readings"
    (again,) = why_trials(fake_plan(why=True, trials=2), folder)
    assert again.cell.id == result.cell, "only a good one is not repeated"


def test_the_extra_trial_is_not_longer_than_it_need_be(execute: Callable[..., RunFolder]) -> None:
    folder = execute()
    (planned,) = why_trials(fake_plan(why=True, messages=10 * MOST_MESSAGES), folder)
    assert planned.cell.schedule.messages == MOST_MESSAGES
    assert not why_trials(fake_plan(messages=10), folder), "nobody asked"
