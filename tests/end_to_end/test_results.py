"""Tests for the output of a run: the documented columns, consistent tables, and commands that read the results."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from hopmeter.store import query
from tests.command import Ran, running
from tests.end_to_end.conftest import CASES, MESSAGES, Measured
from tests.failure.running import nodes_of
from tests.waiting import wait_for_trial

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROMISED = """
cell transport language pattern placement wait cores payload payload_bytes touch codec device share pace rate_hz
relays sinks trials trials_good frame_bytes forward_copies_per_message forward abandoned achieved_mb_s status reason
sent received lost duplicated reordered busy achieved_hz chain_per_hop_p50_us chain_per_hop_p90_us cpu_us_per_message
cpu_percent_mean cpu_samples voluntary_switches_per_message involuntary_switches_per_message
loopback_bytes_per_message rss_peak_mb floor_us times_floor library_version group rank_low rank_high ratio_to_best
ratio_to_best_low ratio_to_best_high rounds stopped_early
"""
FIGURES = (
    "response service hop roundtrip encode decode gather server copy overhead excess reaction data_age first_message "
    "recovery"
)
STATISTICS = (
    "mean_us std_us min_us p50_us p90_us p99_us p999_us max_us count "
    "p50_low_us p50_high_us p99_low_us p99_high_us p999_low_us p999_high_us"
)
SAMPLES = "seq endpoint copy due_ns sent_ns arrived_ns forwarded_ns encoded_ns decoded_ns"
SMALL = """
title = "Small"
question = "Does it go on?"
transport = "unix"
language = "rust"
cores = "free"
rate = 200
messages = 40
trials = 3
"""


def documented_columns() -> set[str]:
    """Return every column name in docs/metrics.md; `NAME_…` stands for every latency."""
    words = set(re.findall(r"`(NAME_\w+|_\w+|[a-z][a-z0-9_]*)`", (ROOT / "docs/metrics.md").read_text()))
    statistics = {word.removeprefix("NAME") for word in words if word.startswith(("NAME_", "_"))}
    statistics |= {bound.replace("p50", tail) for bound in statistics if "p50" in bound for tail in ("p99", "p999")}
    return words | {figure + each for figure in FIGURES.split() for each in statistics}


def test_every_line_has_every_promised_key_and_no_undocumented_one(measured: Measured) -> None:
    figures = {f"{figure}_{each}" for figure in FIGURES.split() for each in STATISTICS.split()}
    promised = set(PROMISED.split()) | figures
    keys = [list(row) for row in measured.rows]
    assert all(each == keys[0] for each in keys), "every line has the same keys in the same order"
    assert promised - set(keys[0]) == set()
    assert set(keys[0]) - documented_columns() == set()


def test_the_tables_hold_what_was_printed(measured: Measured) -> None:
    cells = pq.read_table(measured.folder / "cells.parquet")
    assert cells.column_names == list(measured.rows[0])
    assert json.loads(json.dumps(cells.to_pylist())) == measured.rows
    trials = pq.read_table(measured.folder / "trials.parquet").to_pylist()
    assert sorted(trial["cell"] for trial in trials) == sorted(row["cell"] for row in measured.rows)
    assert [trial["order"] for trial in trials] == list(range(len(trials)))


def test_the_run_folder_is_complete(measured: Measured) -> None:
    about = json.loads((measured.folder / "run.json").read_text())
    assert about["seed"] == 7
    assert {"scenario", "cells", "versions", "machine", "doctor", "noise", "instrument"} <= about.keys()
    for row in measured.rows:
        assert pq.read_schema(measured.folder / f"samples/{row['cell']}-0.parquet").names == SAMPLES.split()
    assert not [path for path in measured.folder.rglob("*") if path.name.startswith(".")], "nothing temporary stays"
    assert (measured.folder / "report.html").stat().st_size > 10_000


def test_samples_tell_each_place_of_a_chain(measured: Measured) -> None:
    rows = measured.samples("chain")
    filled = {
        place: {
            name
            for name in SAMPLES.split()[3:]
            if all(row[name] is not None for row in rows if row["endpoint"] == place)
        }
        for place in range(4)
    }
    assert {"due_ns", "sent_ns", "forwarded_ns"} == filled[0]
    assert {"arrived_ns", "forwarded_ns"} <= filled[1] & filled[2]
    assert "arrived_ns" in filled[3]
    assert "forwarded_ns" not in filled[3]
    times = {(row["endpoint"], row["seq"]): row for row in rows}
    for seq in range(MESSAGES):
        way = [times[0, seq]["sent_ns"], times[1, seq]["arrived_ns"], times[1, seq]["forwarded_ns"]]
        way += [times[2, seq]["arrived_ns"], times[2, seq]["forwarded_ns"], times[3, seq]["arrived_ns"]]
        assert way == sorted(way), "a message is nowhere before it was at the place before"


def test_show_prints_the_tables_of_a_run_in_the_format_that_you_ask_for(
    measured: Measured, hopmeter_here: Callable[..., Ran]
) -> None:
    shown = {
        name: hopmeter_here("show", str(measured.folder), "--format", name) for name in ("markdown", "csv", "json")
    }
    assert all(ran.returncode == 0 for ran in shown.values())
    rows = list(csv.DictReader(io.StringIO(shown["csv"].stdout)))
    lines = [json.loads(line) for line in shown["json"].stdout.splitlines()]
    assert [row["table"] for row in rows] == [line["title"] for line in lines for _ in line["rows"]]
    assert all(line["title"] in shown["markdown"].stdout.replace("\N{NARROW NO-BREAK SPACE}", " ") for line in lines)
    refused = hopmeter_here("show", str(measured.folder), "--format", "csv", "--pairs")
    assert refused.returncode == 2 and "E-OPTION-CONFLICT" in refused.stderr


def test_show_reads_a_run_again(measured: Measured, hopmeter_here: Callable[..., Ran]) -> None:
    shown = hopmeter_here("show", str(measured.folder))
    assert shown.returncode == 0, shown.stderr
    assert all(word in shown.stdout for word in ("shm", "unix", "zeromq", "tcp", "memory"))
    again = hopmeter_here("show", str(measured.folder), "--json")
    assert [json.loads(line)["cell"] for line in again.stdout.splitlines()] == [row["cell"] for row in measured.rows]


def test_an_interrupted_run_keeps_what_is_finished_goes_on_and_joins_others_in_one_table(
    measured: Measured, run_in: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    with running("run", "small.toml", "--json", "--no-report", "--out", "cut", cwd=tmp_path) as process:
        lines = wait_for_trial(tmp_path / ".cut.partial")
        nodes = nodes_of(psutil.Process(process.pid), 1)
        os.killpg(process.pid, signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "hopmeter run --resume" in said
    assert sum(json.loads(line)["trials_good"] for line in printed.splitlines()) >= 1
    assert not any(node.is_running() and node.status() != "zombie" for node in nodes)
    assert (tmp_path / ".cut.partial/cells.parquet").exists()
    kept = [json.loads(line) for line in lines.read_text().splitlines()]
    resumed = run_in("run", "--resume", "cut", "--no-report", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert [json.loads(line)["trials_good"] for line in resumed.stdout.splitlines()] == [3, 3]
    after = pq.read_table(tmp_path / "cut/trials.parquet").to_pylist()
    assert {trial["start_ns"] for trial in kept} <= {trial["start_ns"] for trial in after}, "what was done is kept"
    joins_others(measured, tmp_path / "cut")
    reported = run_in("report", "cut", "-o", "page.html")
    assert reported.returncode == 0, reported.stderr
    assert "Does it go on?" in (tmp_path / "page.html").read_text()


def joins_others(measured: Measured, other: Path) -> None:
    runs = query.connect([measured.folder, other])
    counted: dict[str, int] = dict(runs.sql("SELECT run, count(*) FROM cells GROUP BY run").fetchall())
    assert counted == {"every-shape": len(measured.rows), "cut": 2}
    received: list[Any] = runs.sql(
        "SELECT count(*) FROM samples JOIN cells USING (run, cell) "
        "WHERE run = 'cut' AND transport = 'unix' AND endpoint = 1 AND arrived_ns IS NOT NULL"
    ).fetchall()
    assert received == [(3 * 40,)]


def test_a_dry_run_plans_the_same_cells_and_measures_none(
    measured: Measured, hopmeter_here: Callable[..., Ran], tmp_path: Path
) -> None:
    scenario = measured.folder.parent / "shapes.toml"
    dry = hopmeter_here("run", str(scenario), "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    planned = [json.loads(line) for line in dry.stdout.splitlines()]
    assert [row["cell"] for row in planned] == [row["cell"] for row in measured.rows]
    assert {row["status"] for row in planned} == {"planned"}
    assert list(tmp_path.iterdir()) == []
    spoken = hopmeter_here("run", str(scenario), "--dry-run")
    assert spoken.returncode == 0
    assert "scatter" in spoken.stdout


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"]])
def test_help_has_an_example(hopmeter_here: Callable[..., Ran], words: list[str]) -> None:
    helped = hopmeter_here(*words)
    assert helped.returncode == 0
    assert "Example: hopmeter" in helped.stdout


def test_every_case_is_a_cell(measured: Measured) -> None:
    assert [row["ranked"] for row in measured.rows[: len(CASES)]] == [True] * len(CASES)


def test_a_sink_that_spins_uses_its_core_and_one_that_sleeps_hardly_any(measured: Measured) -> None:
    used = pq.read_table(measured.folder / "processes.parquet").to_pylist()
    shares = {
        (each["cell"], each["name"]): (each["user_us"] + each["system_us"]) / each["interval_s"] / 1e4 for each in used
    }
    spins, sleeps = (shares[measured.by_name[name]["cell"], "sink"] for name in ("spin", "chain"))
    assert spins > 5 * sleeps, shares
    assert 0 < spins < 110, "in percent of a core"


def test_show_tells_what_each_process_used(measured: Measured, hopmeter_here: Callable[..., Ran]) -> None:
    told = [
        json.loads(line)
        for line in hopmeter_here("show", str(measured.folder), "--processes", "--json").stdout.splitlines()
    ]
    names = [each["process"] for each in told if each["cell"] == measured.by_name["chain"]["cell"]]
    assert names == ["source", "relay 1", "relay 2", "sink"]
    mapped = {each["cell"] for each in told if each["shared_mapped_mb"]}
    assert {each["cell"] for each in told if each["transport"] == "shm"} <= mapped
