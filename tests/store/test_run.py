from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hopmeter.errors import UsageError
from hopmeter.model.trial import TrialResult
from hopmeter.store import query
from hopmeter.store.disk import DiskFullError, StoreError
from hopmeter.store.formats import FORMAT
from hopmeter.store.run_folder import RunFolder
from tests.store.raw import write_raw

ABOUT: dict[str, Any] = {"format": FORMAT, "scenario_name": "made", "cells": []}


@pytest.fixture
def raw(tmp_path: Path) -> list[Path]:
    sent = write_raw(tmp_path / "0.raw", 0, [{"seq": 0, "due": 1, "sent": 2}])
    return [sent, write_raw(tmp_path / "1.raw", 1, [{"seq": 0, "arrived": 5}])]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "results", "run", ABOUT)


def good(trial: int = 0) -> TrialResult:
    return TrialResult("c1", trial, good=True, nodes=[{"version": "1.0"}])


def test_a_run_has_its_name_only_when_it_is_finished(folder: RunFolder, raw: list[Path], tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert [path.name for path in results.iterdir()] == [".run.partial"]
    folder.add_trial(good(), raw)
    folder.finish([{"cell": "c1", "status": "ok"}])
    assert [path.name for path in results.iterdir()] == ["run"]
    names = {str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()}
    tables = {f"run/{name}.parquet" for name in ("cells", "trials", "processes", "samples/c1-0")}
    assert names == {"run/run.json"} | tables


def test_after_each_trial_all_of_it_is_on_disk(folder: RunFolder, raw: list[Path]) -> None:
    folder.add_trial(good(), raw)
    again = RunFolder.open(folder.path)
    assert again.about == ABOUT
    assert [each.as_json() for each in again.trials] == [good().as_json() | {"samples": "samples/c1-0.parquet"}]
    assert not [path for path in folder.path.rglob("*") if path.name.endswith(".tmp")]


def test_a_finished_run_is_read_as_it_was_written(folder: RunFolder, raw: list[Path]) -> None:
    kept = folder.add_trial(good(), raw)
    assert RunFolder.open(folder.finish([])).trials == [kept]


@pytest.mark.parametrize("taken", ["run", ".run.partial"])
def test_a_folder_that_exists_is_an_error_and_stays_as_it_is(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).mkdir()
    with pytest.raises(UsageError, match="E-RUN-EXISTS") as error:
        RunFolder.create(tmp_path, "run", ABOUT)
    assert "--out" in error.value.remedy
    assert not any((tmp_path / taken).iterdir())


def test_a_run_goes_on_with_its_good_trials(folder: RunFolder, raw: list[Path]) -> None:
    folder.add_trial(good(0), raw)
    folder.add_trial(TrialResult("c1", 1, good=False, reason="it hung"), [])
    final = folder.finish([])
    again = RunFolder.resume(final)
    assert again.path.name == ".run.partial"
    assert again.has("c1", 0)
    assert not again.has("c1", 1)
    again.add_trial(good(1), raw)
    assert [each.good for each in RunFolder.open(again.finish([])).trials] == [True, True]


def test_a_line_that_was_cut_off_is_a_trial_not_done(folder: RunFolder, raw: list[Path]) -> None:
    folder.add_trial(good(0), raw)
    with (folder.path / "trials.jsonl").open("a") as file:
        file.write('{"cell": "c1", "tri')
    again = RunFolder.resume(folder.path)
    again.add_trial(good(1), raw)
    assert [each.trial for each in RunFolder.open(again.path).trials] == [0, 1]


def test_broken_samples_fail_their_trial_and_no_other(folder: RunFolder, raw: list[Path]) -> None:
    broken = raw[1].with_name("broken.raw")
    broken.write_bytes(raw[1].read_bytes()[:-1])
    kept = folder.add_trial(good(0), [raw[0], broken])
    assert not kept.good
    assert "broken.raw" in kept.reason
    assert kept.remedy
    assert folder.add_trial(good(1), raw).good
    assert [path.name for path in (folder.path / "samples").iterdir()] == ["c1-1.parquet"]


def test_missing_samples_of_a_failed_trial_are_no_reason_of_their_own(folder: RunFolder, raw: list[Path]) -> None:
    failed = TrialResult("c1", 0, good=False, reason="it crashed")
    kept = folder.add_trial(failed, [raw[0], raw[0].with_name("never-written.raw")])
    assert (kept.reason, kept.samples) == ("it crashed", "samples/c1-0.parquet")


def test_a_disk_that_is_full_is_told_and_what_was_finished_stays(folder: RunFolder, raw: list[Path]) -> None:
    folder.add_trial(good(0), raw)
    (folder.path / "samples" / f".c1-1.parquet.{os.getpid()}.tmp").symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"c1-1\.parquet.*E-DISK-FULL") as error:
        folder.add_trial(good(1), raw)
    assert "--resume" in error.value.remedy
    assert [each.trial for each in RunFolder.resume(folder.path).trials] == [0]


def test_a_disk_that_is_full_when_the_trial_is_listed_is_told(folder: RunFolder, raw: list[Path]) -> None:
    (folder.path / "trials.jsonl").symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match="E-DISK-FULL"):
        folder.add_trial(good(0), raw)
    assert folder.trials == []


@pytest.mark.parametrize("content", ["{", "[1]", "[" * 60_000, '{"cells": ' + "9" * 100 + "}"])
def test_a_damaged_run_says_which_file(folder: RunFolder, content: str) -> None:
    (folder.path / "run.json").write_text(content)
    with pytest.raises(StoreError, match=r"run\.json .*E-FILE-DAMAGED"):
        RunFolder.open(folder.path)


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_a_file_is_damage(folder: RunFolder) -> None:
    (folder.path / "run.json").unlink()
    os.mkfifo(folder.path / "run.json")
    with pytest.raises(StoreError, match=r"run\.json .*regular.*E-FILE-DAMAGED"):
        RunFolder.open(folder.path)


def test_a_line_that_nests_too_deep_is_damage(folder: RunFolder) -> None:
    (folder.path / "trials.jsonl").write_text("[" * 60_000 + "\n")
    with pytest.raises(StoreError, match=r"trials\.jsonl .*E-FILE-DAMAGED"):
        RunFolder.open(folder.path)


def test_bytes_of_a_path_that_are_no_text_are_stored(folder: RunFolder, raw: list[Path]) -> None:
    folder.note(command=["hopmeter", "run", "\udcff.toml"])
    folder.add_trial(replace(good(), good=False, reason="\udcff cannot be read"), raw)
    again = RunFolder.open(folder.path)
    assert again.about["command"][-1] == "\udcff.toml"
    assert again.trials[0].reason == "\udcff cannot be read"


def test_what_is_no_run_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.json.*E-NO-RUN"):
        RunFolder.open(tmp_path)


def test_a_note_is_kept(folder: RunFolder) -> None:
    folder.note(interrupted=True)
    assert json.loads((folder.path / "run.json").read_text()) == ABOUT | {"interrupted": True}


def test_several_runs_are_one_table(tmp_path: Path, raw: list[Path]) -> None:
    runs = []
    for name, p50 in (("first", 10.0), ("second", None)):
        folder = RunFolder.create(tmp_path / "results", name, ABOUT)
        folder.add_trial(good(), raw)
        runs.append(folder.finish([{"cell": "c1", "response_p50_us": p50}]))
    database = query.connect(runs)
    cells = database.sql("SELECT run, cell, response_p50_us FROM cells ORDER BY run").fetchall()
    assert cells == [("first", "c1", 10.0), ("second", "c1", None)]
    samples = "SELECT run, cell, trial, max(arrived_ns - sent_ns) FROM (SELECT run, cell, trial, seq, max(arrived_ns) "
    samples += "AS arrived_ns, max(sent_ns) AS sent_ns FROM samples GROUP BY ALL) GROUP BY ALL ORDER BY run"
    assert database.sql(samples).fetchall() == [("first", "c1", 0, 3), ("second", "c1", 0, 3)]
    assert database.sql("SELECT count(*) FROM trials WHERE good").fetchall() == [(2,)]


def test_a_damaged_file_of_a_trial_is_left_out_and_named(folder: RunFolder, raw: list[Path]) -> None:
    for trial in (0, 1):
        folder.add_trial(good(trial), raw)
    run = folder.finish([{"cell": "c1"}])
    (run / "samples/c1-0.parquet").write_bytes(b"PAR1")
    with pytest.warns(UserWarning, match=r"/samples/c1-0\.parquet .*W-SAMPLES"):
        database = query.connect([run])
    assert database.sql("SELECT DISTINCT trial FROM samples").fetchall() == [(1,)]


def test_a_damaged_table_is_named(folder: RunFolder) -> None:
    run = folder.finish([{"cell": "c1"}])
    (run / "cells.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"cells\.parquet .*E-FILE-DAMAGED"):
        query.connect([run])


def test_trials_that_say_nothing_of_their_nodes_are_damage(folder: RunFolder, raw: list[Path]) -> None:
    folder.add_trial(good(), raw)
    run = folder.finish([])
    rows = [row | {"nodes": None} for row in pq.read_table(run / "trials.parquet").to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows), run / "trials.parquet")
    with pytest.raises(StoreError, match=r"trials\.parquet .*E-FILE-DAMAGED"):
        RunFolder.open(run)


def test_cpu_is_a_view_where_it_was_sampled(folder: RunFolder) -> None:
    sampled = folder.cpu_path("c1", 3)
    pq.write_table(pa.table({"pid": [7, 8], "percent": [1.0, 2.0]}), sampled)
    database = query.connect([folder.finish([{"cell": "c1"}])])
    assert database.sql("SELECT run, cell, trial, sum(percent) FROM cpu GROUP BY ALL").fetchall() == [
        ("run", "c1", 3, 3.0)
    ]


def test_no_run_at_all_cannot_be_queried() -> None:
    with pytest.raises(UsageError, match="E-NO-RUN"):
        query.connect([])


def test_a_run_from_an_older_version_lacks_columns_and_is_read_all_the_same(tmp_path: Path) -> None:
    old, new = (RunFolder.create(tmp_path, name, ABOUT).finish([{"cell": "c1"}]) for name in ("old", "new"))
    table = pq.read_table(old / "cells.parquet").drop_columns(["times_floor"])
    pq.write_table(table, old / "cells.parquet")
    assert query.connect([old, new]).sql("SELECT count(*), count(times_floor) FROM cells").fetchall() == [(2, 0)]


def test_a_run_without_tables_cannot_be_queried(folder: RunFolder) -> None:
    with pytest.raises(UsageError, match=r"--resume.*E-RUN-UNFINISHED"):
        query.connect([folder.path])
