"""A participant with one thread delays a concurrent flow by a planned ratio; other participants do not delay the
flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.command import Ran, hopmeter
from tests.known_truth.workloads import HEAD

pytestmark = pytest.mark.alone

RATIO = 3
DELAY_MS = 10
COMPANY = f"""
[participant]
hub = {{ language = "c++" }}
middle = {{}}
one = {{ threads = 1 }}
many = {{ language = "python" }}
[flow]
start = {{ from = "hub", to = "middle", rate = 10 }}
slow = {{ from = "hub", to = "one", rate = 10, receiver_work = "sleep:{RATIO * DELAY_MS}ms" }}
delayed = {{ from = "middle", to = "one", after = "start", deadline = "1s" }}
free = {{ from = "hub", to = "many", rate = 10, deadline = "1s" }}
"""
"""A workload in which one flow delays another by a planned ratio.

The flows `slow` and `start` arrive together. The participant `one` then works for {RATIO} delays, and the flow
`delayed` arrives after one delay. Messages of `delayed` are due when `start` arrives, so they take {RATIO} delays in
the workload, and one delay if measured alone.
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    folder = tmp_path_factory.mktemp("company")
    head = HEAD.replace("trials = 1", "trials = 4").replace('"1s"', '"500ms"')
    text = f'{head}language = "rust"\nsettings.synthetic = {{ delay_us = {1000 * DELAY_MS} }}\n{COMPANY}'
    (folder / "company.toml").write_text(text)
    return folder / "run", hopmeter("run", folder / "company.toml", "--alone", "--out", folder / "run")


@pytest.fixture(scope="module")
def rows(run: tuple[Path, Ran]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows, with the flow that the cell measured alone and the row's flow as the key."""
    folder, done = run
    assert done.returncode == 0, done.stderr
    return {(row["alone"], row["flow"]): row for row in pq.read_table(folder / "cells.parquet").to_pylist()}


def test_a_flow_that_waits_for_the_work_on_another_takes_the_planned_ratio(rows: Any) -> None:
    row = rows["", "delayed"]
    assert row["times_alone"] == pytest.approx(RATIO, rel=0.15)
    assert 1 < row["times_alone_low"] < row["times_alone"] < row["times_alone_high"]


def test_a_flow_between_other_participants_takes_as_long_as_alone(rows: Any) -> None:
    row = rows["", "free"]
    assert row["times_alone"] == pytest.approx(1, rel=0.15)
    assert row["times_alone_low"] < 1.1 and row["times_alone_high"] > 0.9


def test_alone_a_flow_runs_with_what_causes_it_and_nothing_else(rows: Any) -> None:
    assert set(rows) == {
        *(("", name) for name in ("", "start", "slow", "delayed", "free")),
        *((alone, name) for alone in ("delayed", "free") for name in ("", alone)),
    }
    assert rows["delayed", "delayed"]["received"] == 4 * 5 and rows["free", ""]["received"] == 4 * 5
    assert rows["delayed", ""]["received"] == 2 * 4 * 5, "`start` and `delayed`"
    assert all(row["rank_low"] is None for (alone, _), row in rows.items() if alone)
    assert rows["", "slow"]["times_alone"] is None, "it has no deadline"


def test_the_terminal_and_the_report_have_the_ratio_and_no_row_of_a_cell_alone(
    rows: Any, run: tuple[Path, Ran]
) -> None:
    folder, done = run
    assert rows
    said = " ".join(done.stdout.split())
    assert "Messages of delayed take" in said
    assert "times as long alongside the other flows as alone (with only start, the flow that causes them)" in said
    assert "×alone" in said
    report = (folder / "report.html").read_text()
    assert "Times alone" in report and "as long alongside the other flows as alone" in report
    assert "-alone-" not in said and "c1-synthetic-rust-alone-free" not in report
