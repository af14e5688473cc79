"""The history of synthetic runs shows the planned changes in the table, in JSON and on the page, and lists bad runs."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.history.cell_history import History, history
from hopmeter.analysis.history.run_collection import find_runs, read_runs
from hopmeter.cli.history import history as command
from hopmeter.errors import HopmeterError
from hopmeter.report.site import history_page
from hopmeter.report.words.history_words import sentences
from hopmeter.store import pack
from hopmeter.store.run_folder import RunFolder
from tests.altered_runs import alter
from tests.report import fixture

RUNS, CHANGE = 24, 14


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixture.build(tmp_path_factory.mktemp("source") / "quick", fixture.SMALL[:6], trials=3, messages=1200)


@pytest.fixture(scope="module")
def results(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, chance = tmp_path_factory.mktemp("results"), random.Random(7)

    def factor(number: int, row: dict[str, Any]) -> float:
        shifted = row["transport"] == "tcp" and number >= CHANGE
        return chance.lognormvariate(0, 0.03) * (1.4 if shifted else 1.0)

    for number in range(RUNS):
        kernel = "6.1.0" if number < CHANGE else "6.1.1"
        alter(source, folder, number, lambda row, number=number: factor(number, row), kernel=kernel)
    return folder


@pytest.fixture(scope="module")
def found(results: Path) -> History:
    return history(read_runs([results], trials=False))


def copy(results: Path, target: Path, many: int = 3) -> list[Path]:
    return [shutil.copytree(run, target / run.name) for run in sorted(results.iterdir())[:many]]


def test_the_planned_change_is_found_at_its_run(found: History) -> None:
    changed = {(each.latest["transport"], each.metric) for each in found.changed_series}
    assert changed == {("tcp", "p50"), ("tcp", "p99")}
    for each in found.changed_series:
        assert [abs(change.index - CHANGE) <= 1 for change in each.changes] == [True]
        assert each.ratios == [pytest.approx(1.4, rel=0.1)]


def test_an_upgraded_kernel_is_the_same_machine_and_is_named_at_the_change(found: History) -> None:
    assert len({each.machine for each in found.series}) == 1
    assert any("kernel 6.1.0 → 6.1.1" in sentence for sentence in sentences(found))


def test_each_machine_has_its_own_series(source: Path, tmp_path: Path) -> None:
    for number in range(4):
        alter(source, tmp_path, number, lambda _: 1.0, cpu_model=f"processor {number % 2}")
    series = history(read_runs([tmp_path], trials=False)).series
    assert {each.machine for each in series} == {"processor 0", "processor 1"}
    assert {len(each.points) for each in series if each.metric == "p50"} == {2}


def test_the_old_side_of_a_comparison_is_left_out(results: Path, tmp_path: Path) -> None:
    copy(results, tmp_path)
    runs = read_runs([tmp_path], trials=False)
    runs[1].rows[0].values["side"] = "old"
    runs[2].rows[0].values["side"] = "new"
    cell = runs[0].rows[0].id
    counts = {each.latest.id: len(each.points) for each in history(runs).series if each.metric == "p50"}
    assert counts.pop(cell) == 2
    assert set(counts.values()) == {3}


def test_a_change_of_all_cells_points_to_the_machine(source: Path, tmp_path: Path) -> None:
    chance = random.Random(3)
    for number in range(20):
        alter(source, tmp_path, number, lambda _, at=number: chance.lognormvariate(0.5 * (at >= 10), 0.02))
    found = history(read_runs([tmp_path], trials=False))
    assert any("6 of 6 cells" in sentence and "2026-01-11" in sentence for sentence in sentences(found))


def test_too_few_runs_say_how_many_are_needed(results: Path, tmp_path: Path) -> None:
    copy(results, tmp_path)
    found = history(read_runs([tmp_path], trials=False))
    assert f"{found.least_runs} runs" in sentences(found)[0]


def test_the_page_has_a_chart_of_each_cell(found: History, tmp_path: Path) -> None:
    text = history_page.write(found, tmp_path / "new" / "history.html").read_text()
    assert text.count("<figure ") == 6
    assert text.count('aria-label="p50: 1.4') == 1


def test_a_single_run_has_no_chart(results: Path, tmp_path: Path) -> None:
    single, twice = (history(read_runs(copy(results, tmp_path / str(many), many), trials=False)) for many in (1, 2))
    assert [section.figures for section in history_page.page(single).sections if section.style == "group"] == [[]]
    assert [len(section.figures) for section in history_page.page(twice).sections if section.style == "group"] == [6]


def test_the_table_names_each_cell_and_its_change(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command([results])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["iceoryx2", "(Rust)", str(RUNS)] in [line[:3] for line in lines]
    assert sum("since" in line for line in lines) == 2


def test_json_has_every_point_with_its_level(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command([results], as_json=True, transport=["tcp"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["metric"] for row in rows] == ["response_p50_us", "response_p99_us"]
    for row in rows:
        assert len(row["points"]) == RUNS
        assert row["changes"][0]["new"] == ["kernel 6.1.0 → 6.1.1"]
        assert len({point["level"] for point in row["points"]}) == 2
        assert row["transport"] == "tcp"
        assert row["rate_hz"] == 1000


def test_packed_runs_are_part_of_the_history(results: Path, source: Path, tmp_path: Path) -> None:
    copy(results, tmp_path / "results")
    (tmp_path / "results" / "packed").mkdir()
    RunFolder.open(source).pack(tmp_path / "results" / "packed" / "a.hopmeter.zip")
    names = [run.name for run in read_runs([tmp_path / "results"], trials=False)]
    assert len(names) == 4
    assert source.name in names


def test_a_run_that_is_named_twice_counts_once(results: Path) -> None:
    runs = list(find_runs(results))
    assert len(read_runs([*runs, results, results], trials=False)) == RUNS


def test_a_copy_and_a_packed_copy_of_a_run_count_once(results: Path, tmp_path: Path) -> None:
    runs = copy(results, tmp_path)
    copy(results, tmp_path / "baselines" / "main")
    with zipfile.ZipFile(tmp_path / f"a{pack.SUFFIX}", "w") as archive:
        archive.comment = b"hopmeter pack 1"
        for name in pack.NEEDED:
            kind = zipfile.ZIP_DEFLATED if name == "run.json" else zipfile.ZIP_STORED
            archive.write(runs[0] / name, f"{runs[0].name}/{name}", kind)
    assert [run.folder for run in read_runs([tmp_path], trials=False)][1:] == runs[1:]
    assert len(read_runs([tmp_path], trials=False)) == 3


BAD = {
    "E-RUN-FORMAT": lambda run: (run / "run.json").write_text('{"format": 99, "cells": []}'),
    "E-FILE-DAMAGED": lambda run: (run / "cells.parquet").write_bytes(b"PAR1"),
    "E-RUN-DAMAGED": lambda run: (run / "run.json").write_text('{"format": 2, "cells": [{}]}'),
    "E-RUN-UNFINISHED": lambda run: (run / "cells.parquet").unlink(),
    "E-FILE-MISSING": lambda run: (run / "trials.parquet").unlink(),
}


@pytest.mark.parametrize("code", BAD)
def test_a_bad_run_is_an_error_if_named_and_else_left_out(results: Path, tmp_path: Path, code: str) -> None:
    runs = copy(results, tmp_path)
    BAD[code](runs[1])
    with pytest.warns(UserWarning, match=code) as warned:
        assert len(read_runs([tmp_path], trials=False)) == 2
    assert len(warned) == 1
    with pytest.raises(HopmeterError, match=code) as error:
        read_runs([runs[1]], trials=False)
    assert error.value.remedy


def test_an_interrupted_run_is_left_out(results: Path, tmp_path: Path) -> None:
    runs = copy(results, tmp_path)
    partial = runs[0].rename(tmp_path / f".{runs[0].name}.partial")
    with pytest.warns(UserWarning, match="E-RUN-UNFINISHED"):
        assert len(read_runs([tmp_path], trials=False)) == 2
    for name in (partial, runs[0]):
        with pytest.raises(HopmeterError, match="E-RUN-UNFINISHED") as error:
            read_runs([name], trials=False)
        assert "--resume" in error.value.remedy


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_no_run_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(HopmeterError, match="E-NO-RUN"):
        read_runs([tmp_path / name], trials=False)
