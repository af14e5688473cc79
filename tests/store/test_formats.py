"""Runs stored by an older hopmeter are read like current runs; runs with a newer format are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hopmeter
from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.analysis.results.run_results import read
from hopmeter.errors import UsageError
from hopmeter.messages import split_code
from hopmeter.model.columns import CELLS
from hopmeter.model.old_names import rename_old_names
from hopmeter.store import query
from hopmeter.store.formats import FORMAT, convert_nodes, convert_row, convert_run
from hopmeter.store.parquet_rows import read_rows
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import Samples
from tests.coded import refuses

STORED = Path(__file__).parent / "format1"
"""A stored run over `unix` with its floors, which an older hopmeter wrote in format 1."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED, tmp_path / "stored"))


def edit(run: Path, **changes: object) -> Path:
    about = json.loads((run / "run.json").read_text()) | changes
    (run / "run.json").write_text(json.dumps(about))
    return run


def test_cells_of_format_1_have_todays_names_and_values(run: Path) -> None:
    first, second, third, *_ = RunFolder.open(run).cells
    assert (first.axes.dispatch, second.axes.dispatch) == ("parallel", "sequential")
    assert (third.axes.heap, third.axes.pairs) == ("retain", 2)
    assert (first.nodes.no_idle_states, first.schedule.retry_s) == (True, 0.5)
    assert first.comparison.floor == "c4-shm-rust"


def test_rows_of_format_1_have_todays_columns_and_the_values_that_were_stored(run: Path) -> None:
    stored = pq.read_table(run / "cells.parquet").to_pylist()
    rows = read(run).rows
    assert all(set(row.values) <= set(CELLS) for row in rows)
    assert [row["dispatch"] for row in rows[:3]] == ["parallel", "sequential", "parallel"]
    same = [name for name in stored[0] if name not in ("asking", "heap", "path", "copies_per_hop")]
    assert [{name: row.values[name] for name in same} for row in rows] == [
        {name: row[name] for name in same} for row in stored
    ]
    assert [row["carried_by"] for row in rows] == [row["path"] for row in stored]
    assert [row["forward_copies_per_message"] for row in rows] == [row["copies_per_hop"] for row in stored]


@pytest.mark.parametrize("stored", [1, FORMAT])
def test_a_scenario_and_a_stored_run_may_name_a_column_as_it_was_called(stored: int) -> None:
    about = convert_run({"format": stored, "columns": ["copies_per_hop", "lost"]})
    assert about["columns"] == ["forward_copies_per_message", "lost"]
    with pytest.warns(FutureWarning, match="forward_copies_per_message"):
        assert rename_old_names({"columns": ["copies_per_hop"]}, "mine.toml") == {
            "columns": ["forward_copies_per_message"]
        }


def without_codes(value: Any) -> Any:
    """Return the value without message codes, because messages in the old format have none."""
    if isinstance(value, list):
        return [without_codes(each) for each in value]
    return split_code(value)[0] if isinstance(value, str) else value


def as_stored(value: Any) -> Any:
    """Return the value without message codes, and with tolerance for the last digits of numbers, because the order of
    additions differs between processors."""
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else without_codes(value)


BY_ROUNDS = ("floor_us", "floor_reason", "times_floor")
"""Columns that the current version computes from the trial medians."""


def test_a_run_of_format_1_analysed_again_says_what_was_stored(run: Path) -> None:
    stored = {row["cell"]: row for row in pq.read_table(run / "cells.parquet").to_pylist()}
    for row in analyse_run(RunFolder.open(run)):
        was = stored[row["cell"]]
        same = [name for name in CELLS if name in was and name not in ("heap", "path", *BY_ROUNDS)]
        assert all(as_stored(row[name]) == was[name] for name in same)
        assert row["dispatch"] == was["asking"]


def test_queries_find_old_and_new_runs_under_todays_names(run: Path, tmp_path: Path) -> None:
    newer = Path(shutil.copytree(run, tmp_path / "newer"))
    table = pq.read_table(newer / "cells.parquet")
    pq.write_table(
        table.rename_columns([{"asking": "dispatch"}.get(name, name) for name in table.column_names]),
        newer / "cells.parquet",
    )
    for runs in ([run], [newer], [run, newer]):
        found = query.connect(runs).sql("SELECT DISTINCT dispatch FROM cells WHERE pattern = 'scatter'").fetchall()
        assert sorted(found) == [("parallel",), ("sequential",)]
        assert "asking" not in query.connect(runs).sql("SELECT * FROM cells").columns


def test_samples_of_format_1_are_queried_by_endpoint(run: Path) -> None:
    samples = query.connect([run]).sql("SELECT count(DISTINCT endpoint) FROM samples WHERE cell = 'c3-unix-rust'")
    assert samples.fetchall() == [(4,)]


def test_missed_deadlines_of_earlier_trials_have_todays_name(tmp_path: Path) -> None:
    stored = {"trial": [0, 1], "misses_most": [4, 5], "misses": [2, 3], "deadlines": [9, 9]}
    pq.write_table(pa.table(stored), tmp_path / "flows.parquet")
    rows = read_rows(tmp_path / "flows.parquet", ("missed", "missed_most", "missed_least"))
    assert rows == [{"missed": 2, "missed_most": 4}, {"missed": 3, "missed_most": 5}]
    assert read_rows(tmp_path / "flows.parquet")[0] == {"trial": 0, "missed_most": 4, "missed": 2, "deadlines": 9}
    assert convert_row({"miss_share_low": 0.5, "carried_by": ""}) == {"missed_share_low": 0.5, "carried_by": ""}


def test_a_broker_of_an_earlier_run_has_its_title() -> None:
    (node,) = convert_nodes([{"endpoints": [], "facts": {"daemon": "mosquitto", "os": "x"}}])
    assert node["facts"] == {"broker": "mosquitto", "os": "x"}


def test_due_times_of_earlier_samples_have_todays_name(run: Path) -> None:
    path = next((run / "samples").glob("c1-*.parquet"))
    stored = pq.read_table(path, filters=[("participant", "=", 0)])["intended_ns"].to_pylist()
    assert Samples(path).of(0, "due_ns")["due_ns"].tolist() == stored
    assert next(Samples(path).tables())["due_ns"].to_pylist() == stored
    queried = query.connect([run]).sql("SELECT min(due_ns) FROM samples WHERE cell = 'c1-unix-rust'").fetchall()
    assert queried == [(min(stored),)]


def test_reports_of_nodes_of_format_1_have_endpoints(run: Path) -> None:
    [trial] = RunFolder.open(run).trials_of("c3-unix-rust")
    assert [node["endpoints"][0]["role"] for node in trial.nodes] == ["source", "sink"] * 2


def test_columns_and_scenario_of_a_stored_run_are_asked_for_by_todays_names(run: Path) -> None:
    about = RunFolder.open(run).about
    assert about["columns"] == ["dispatch", "gather_p50_us"]
    assert about["scenario"]["case"][0]["dispatch"] == ["parallel", "sequential"]
    assert about["scenario"]["retry"] == "500ms"
    assert about["format"] == FORMAT


@pytest.mark.parametrize("later", [FORMAT + 1, "x"])
def test_a_later_format_is_refused_with_what_reads_it(run: Path, later: object) -> None:
    with refuses(UsageError, f"E-RUN-FORMAT format {later}") as refused:
        RunFolder.open(edit(run, format=later, hopmeter="9.1"))
    assert "9.1" in refused.value.remedy


def test_a_later_format_of_the_same_version_is_not_read_with_this_version(run: Path) -> None:
    with pytest.raises(UsageError) as refused:
        RunFolder.open(edit(run, format=FORMAT + 1, hopmeter=hopmeter.__version__))
    assert "newer state of this version" in refused.value.remedy
