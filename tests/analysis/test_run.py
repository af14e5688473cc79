"""Tests for the rows of a whole run: floors, resources, and damaged files, which must not affect other cells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hopmeter.analysis.cells.cell import analyse
from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.model.cell import Cell
from hopmeter.model.columns import CELLS
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder
from tests.analysis.made import MS, arrivals, cell, keep, messages, run_of
from tests.coded import lacking

COUNT = 40


def sound(took_us: float = 50) -> dict[int, list[dict[str, Any]]]:
    return {0: messages(COUNT), 1: arrivals(range(COUNT), took_us)}


def test_every_row_has_every_column_and_is_json(tmp_path: Path) -> None:
    dropped = cell(id="c2", dropped="no shared memory here")
    folder = run_of(tmp_path, cell(), dropped, cell(id="c3"))
    keep(folder, cell(), [sound()])
    rows = analyse_run(folder)
    assert all(list(row) == list(CELLS) for row in rows)
    assert [json.loads(json.dumps(row, allow_nan=False))["status"] for row in rows] == ["ok", "dropped", "dropped"]
    assert rows[1]["reason"] == "no shared memory here"
    assert [row["reason_code"] for row in rows] == [None, None, "D-RUN-ENDED"]
    assert lacking(rows[2]["reason"], "D-RUN-ENDED") == []
    table = pq.read_table(folder.finish(rows) / "cells.parquet")
    assert table.schema.names == list(CELLS)
    assert table.to_pylist() == rows


def test_figures_stand_beside_their_floor(tmp_path: Path) -> None:
    floor, other = cell(floor="c1"), cell(id="c2", floor="c1")
    folder = run_of(tmp_path, floor, other)
    keep(folder, floor, [sound(20)])
    keep(folder, other, [sound(50)])
    rows = analyse_run(folder)
    assert [row["floor_us"] for row in rows] == pytest.approx([20, 20])
    assert [row["times_floor"] for row in rows] == pytest.approx([1, 2.5])


def test_without_a_usable_floor_there_is_a_reason(tmp_path: Path) -> None:
    floor, other = cell(), cell(id="c2", floor="c1")
    lonely = cell(id="c3", floor_reason="no floor: memory is not built")
    folder = run_of(tmp_path, floor, other, lonely)
    folder.add_trial(TrialResult("c1", 0, good=False, reason="it crashed"), [])
    keep(folder, other, [sound()])
    keep(folder, lonely, [sound()])
    _, with_broken_floor, without = analyse_run(folder)
    assert (with_broken_floor["floor_us"], with_broken_floor["times_floor"]) == (None, None)
    assert lacking(with_broken_floor["floor_reason"], "W-FLOOR-FAILED c1 it crashed") == []
    assert without["floor_reason"] == "no floor: memory is not built"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def replace_numbers(path: Path) -> None:
    table = pq.read_table(path)
    seqs = pa.array([2**62, *table.column("seq").to_pylist()[1:]], pa.uint64())
    endpoints = [table.slice(0, COUNT), table.slice(COUNT)]
    with pq.ParquetWriter(path, table.schema) as writer:
        for part, first in zip(endpoints, (0, COUNT), strict=True):
            writer.write_table(part.set_column(0, table.schema.field(0), seqs.slice(first, len(part))))


@pytest.mark.parametrize("damage", [cut, replace_numbers, Path.unlink])
def test_damaged_samples_fail_their_trial_and_no_other(damage: Callable[[Path], None], tmp_path: Path) -> None:
    first, second = cell(trials=2), cell(id="c2")
    folder = run_of(tmp_path, first, second)
    keep(folder, first, [sound(), sound()])
    keep(folder, second, [sound()])
    damage(folder.path / "samples" / "c1-1.parquet")
    rows = analyse_run(folder)
    assert [(row["status"], row["trials_good"], row["trials"]) for row in rows] == [("ok", 1, 2), ("ok", 1, 1)]
    assert lacking(rows[0]["reason"], "W-TRIALS-FAILED 1 2 c1-1.parquet") == []
    trials = pq.read_table(folder.finish(rows) / "trials.parquet").to_pylist()
    assert [trial["good"] for trial in trials] == [True, False, True]
    assert (trials[0]["received"], trials[0]["response_p50_us"], trials[1]["received"]) == (COUNT, 50, None)


def test_samples_of_someone_else_are_damage(tmp_path: Path) -> None:
    folder = run_of(tmp_path, cell())
    keep(folder, cell(), [sound() | {5: arrivals(range(3))}])
    row = analyse_run(folder)[0]
    assert row["status"] == "failed"
    assert "endpoint 5" in row["reason"]


def test_resources_are_summed_over_nodes_and_shared_ones_are_not(tmp_path: Path) -> None:
    used = {
        "user_us": 300,
        "system_us": 100,
        "voluntary_switches": 40,
        "involuntary_switches": 2,
        "minor_faults": 30,
        "major_faults": 1,
        "rss_peak_bytes": 5_000_000,
        "loopback_bytes": 8000,
    }
    nodes = [{"resources": used}, {"resources": used | {"loopback_bytes": 8200}}]
    folder = run_of(tmp_path, cell(trials=2))
    keep(folder, cell(trials=2), [sound(), sound()], nodes)
    row = analyse_run(folder)[0]
    assert row["cpu_us_per_message"] == 2 * 400 / COUNT
    assert row["voluntary_switches_per_message"] == 2 * 40 / COUNT
    assert row["involuntary_switches_per_message"] == 2 * 2 / COUNT
    assert (row["minor_faults_per_message"], row["major_faults_per_message"]) == (2 * 30 / COUNT, 2 / COUNT)
    assert row["loopback_bytes_per_message"] == 8200 / COUNT, "one device, seen by both"
    assert row["rss_peak_mb"] == 10
    assert row["pss_mb"] is None, "of an earlier version"


@pytest.mark.parametrize(("last", "mb"), [({"pss_bytes": 4_000_000}, 7), ({}, None)])
def test_the_memory_of_a_cell_needs_the_share_of_each_process(
    tmp_path: Path, last: dict[str, int], mb: float | None
) -> None:
    folder = run_of(tmp_path, cell(trials=1))
    used = {"user_us": 300, "system_us": 100}
    nodes = [{"resources": used | {"pss_bytes": 3_000_000}}, {"resources": used | last}]
    keep(folder, cell(trials=1), [sound()], nodes)
    assert analyse_run(folder)[0]["pss_mb"] == mb


def test_cpu_is_a_share_of_one_core_at_the_rate_that_was_reached(tmp_path: Path) -> None:
    folder = run_of(tmp_path, cell(trials=3))
    keep(folder, cell(trials=3), [sound(), sound(), sound()], [{"resources": {"user_us": 300, "system_us": 100}}])
    row = analyse_run(folder)[0]
    assert row["cpu_core_percent"] == pytest.approx(row["cpu_us_per_message"] * row["achieved_hz"] / 1e4)
    assert row["cpu_core_percent_low"] == pytest.approx(row["cpu_core_percent"]), "the trials are equal"
    assert row["cpu_core_percent_high"] == pytest.approx(row["cpu_core_percent"])


def test_cpu_over_time_is_the_nodes_own(tmp_path: Path) -> None:
    folder = run_of(tmp_path, cell())
    keep(folder, cell(), [sound()])
    seen = [(1, "source", 10.0), (1, "source", 20.0), (2, "sink", 30.0), (3, "launcher", 99.0)]
    rows = [{"time": 0.0, "pid": pid, "role": role, "percent": percent} for pid, role, percent in seen]
    folder.cpu_path("c1", 0).parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder.cpu_path("c1", 0))
    row = analyse_run(folder)[0]
    assert (row["cpu_percent_mean"], row["cpu_samples"]) == (45, 3)


def test_one_cell_can_be_analysed_alone(tmp_path: Path) -> None:
    one: Cell = cell()
    folder = run_of(tmp_path, one)
    keep(folder, one, [sound()])
    row = analyse(one, folder.trials_of("c1"), RunFolder.open(folder.path))
    assert (row["response_p50_us"], row["sent"], row["floor_us"]) == (50, COUNT, None)
    assert row["achieved_hz"] == pytest.approx(1e9 / MS)
