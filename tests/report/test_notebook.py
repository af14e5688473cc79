"""Tests for notebooks and scripts: every message as a row, the study's figure, and the documentation's notebook."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hopmeter import report
from hopmeter.analysis.results.run_results import read
from hopmeter.cli.output import run_table
from hopmeter.cli.parts.application import app, register_all
from hopmeter.errors import UsageError
from hopmeter.report.words import formatting
from hopmeter.store import query
from tests.report import fixture

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs/notebook.ipynb"


def test_every_message_that_arrived_is_a_row_with_the_delay_the_table_tells(objects: Path) -> None:
    table = report.messages(objects)
    assert table.columns[:5] == ["middleware", "plugin", "timestamp", "count", "delay"]
    cells = query.connect([objects]).sql("SELECT * FROM cells").pl()
    for row in cells.iter_rows(named=True):
        mine = table.filter(pl.col("cell") == row["cell"])
        assert len(mine) == row["received"]
        assert mine["delay"].median() * 1e6 == pytest.approx(row["response_p50_us"], rel=0.02)
        assert set(mine["plugin"]) == {row["codec"]}
        steps = mine.filter(pl.col("trial") == 0)["timestamp"].diff().drop_nulls()
        assert steps.to_list() == pytest.approx([0.01] * len(steps))


def test_show_writes_them_as_csv(objects: Path, tmp_path: Path) -> None:
    register_all()
    out = tmp_path / "new/messages.csv"
    done = CliRunner().invoke(app, ["show", str(objects), "--csv", str(out)])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(out.open()))
    assert f"{len(rows)} messages in {out}" in done.output.replace("\n", "")
    assert len(rows) == len(report.messages(objects))
    assert {row["plugin"] for row in rows} == {"numpy", "torch", "pandas", "pickle-in-band", "json-base64"}


def test_csv_on_stdout_leaves_what_is_there(objects: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    out.write_text("before\n")
    with out.open("a") as file:
        command = [sys.executable, "-m", "hopmeter", "show", str(objects), "--csv", "/dev/stdout"]
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=True)
    before, header, *rows = out.read_text().splitlines()
    assert (before, header[:10]) == ("before", "middleware")
    assert f"{len(rows)} messages in /dev/stdout" in done.stderr


def test_the_table_in_a_file_is_cut_nowhere(objects: Path) -> None:
    out = io.StringIO()
    run = read(objects)
    run.about["columns"] = ["encode_p50_us", "decode_p50_us", "achieved_mb_s", "send_mean_us"]
    run_table.print_run(Console(file=out, width=60), run)
    assert "…" not in out.getvalue()
    assert "transport" in out.getvalue()


def test_too_few_messages_for_a_median_leave_the_other_figures(tmp_path: Path) -> None:
    out = io.StringIO()
    run = read(fixture.build(tmp_path / "run", (fixture.Made("zenoh", us=2000),), trials=1, messages=8))
    run.about["columns"] = ["response_mean_us"]
    run.rows[0].values.update({"response_p50_us": None, "median_us": None})
    run_table.print_run(Console(file=out, width=60), run)
    line = next(line for line in out.getvalue().splitlines() if "zenoh" in line)
    assert formatting.number(run.rows[0]["response_mean_us"]) in line
    assert "ok" not in line
    few = "–: not enough messages or trials for this percentile and its interval; a median needs 20 messages."
    assert few in " ".join(out.getvalue().split())


def test_a_message_that_was_lost_has_no_row(tmp_path: Path) -> None:
    run = fixture.build(tmp_path / "run", (fixture.Made("zenoh", lost=2),), trials=1, messages=40)
    out = io.StringIO()
    assert report.write_csv(run, out) == 38
    assert [line.split(",")[:2] for line in out.getvalue().splitlines()[:2]] == [
        ["middleware", "plugin"],
        ["zenoh", "none"],
    ]


def test_damaged_samples_are_named_and_the_others_written(tmp_path: Path) -> None:
    run = fixture.build(tmp_path / "run", (fixture.Made("zenoh"),), trials=2, messages=40)
    first, _ = sorted((run / "samples").iterdir())
    first.write_bytes(b"PAR1")
    register_all()
    done = CliRunner().invoke(app, ["show", str(run), "--csv", str(tmp_path / "messages.csv")])
    assert done.exit_code == 1
    assert first.name in done.stderr
    assert "40 messages in" in done.output
    with pytest.warns(UserWarning, match=rf"{first.name}.*E-SAMPLES-UNREADABLE"):
        assert len(report.messages(run)) == 40


def test_nothing_measured_is_an_empty_table_and_no_figure(tmp_path: Path) -> None:
    run = fixture.build(tmp_path / "run", (fixture.Made("shm", failed="no core is ours"),), trials=1)
    out = io.StringIO()
    assert report.write_csv(run, out) == 0
    assert out.getvalue().startswith("middleware,plugin,timestamp,count,delay")
    with pytest.raises(UsageError, match="E-NO-MESSAGES"):
        report.boxes(run)


def marks(chart: alt.TopLevelMixin) -> list[str]:
    whole = chart.to_dict()
    return [layer["mark"]["type"] for part in whole.get("vconcat", [whole]) for layer in part["layer"]]


def test_any_run_has_the_figure(run: Path, objects: Path) -> None:
    assert marks(report.boxes(objects)) == ["point", "rule", "line", "rule"]
    assert len(marks(report.boxes(run))) == 3 * 4, "a chart for each set of conditions"


@pytest.mark.parametrize("folder", ["results", "../results"])
def test_the_notebook_finds_the_newest_run(folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = "".join(json.loads(NOTEBOOK.read_text())["cells"][1]["source"])
    monkeypatch.delenv("HOPMETER_RUN", raising=False)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    with pytest.raises(AssertionError, match="make bench"):
        exec(compile(first, "docs/notebook.ipynb", "exec"), {})
    for name in ("2026-01-01T000000-old", "2026-01-02T000000-new"):
        (Path(folder) / name).mkdir(parents=True)
    known: dict[str, Any] = {}
    exec(compile(first, "docs/notebook.ipynb", "exec"), known)
    assert known["path"] == Path(folder) / "2026-01-02T000000-new"


def test_the_notebook_runs_on_any_run(
    objects: Path, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "kept without outputs"
    for folder in (objects, run):
        monkeypatch.setenv("HOPMETER_RUN", str(folder))
        known: dict[str, Any] = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), "docs/notebook.ipynb", "exec"), known)
        assert known["run"].path == folder
        assert known["figure"].to_dict()["$schema"]
        assert known["percentiles"].height == len({*known["messages"]["cell"]})
        for row in known["percentiles"].iter_rows(named=True):
            delays = known["messages"].filter(pl.col("cell") == row["cell"])["delay"].to_numpy()
            assert row["p99 ms"] == pytest.approx(np.quantile(delays, 0.99, method="median_unbiased") * 1e3)
