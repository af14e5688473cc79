"""A packed run has the same rows, messages and report as its folder."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from hopmeter.analysis.results.run_results import read
from hopmeter.report import write, write_csv
from hopmeter.report.report_file import render_runs
from hopmeter.store.run_folder import RunFolder


@pytest.fixture(scope="module")
def packed(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return RunFolder.open(objects).pack(tmp_path_factory.mktemp("packed") / "objects.hopmeter.zip")


def test_rows_are_equal(objects: Path, packed: Path) -> None:
    rows = [[row.values for row in read(each).rows] for each in (objects, packed)]
    assert rows[0]
    assert rows[0] == rows[1]


def test_messages_are_equal(objects: Path, packed: Path) -> None:
    out = StringIO(), StringIO()
    many = [write_csv(each, file) for each, file in zip((objects, packed), out, strict=True)]
    assert many[0] == many[1] > 0
    assert out[0].getvalue() == out[1].getvalue()


def test_reports_are_equal(objects: Path, packed: Path, tmp_path: Path) -> None:
    written = write([packed], tmp_path / "report.html")
    assert written.read_text() == render_runs([read(objects)])
