"""The data derived from the column table agrees with the table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hopmeter.model import column_types_file, columns
from hopmeter.model.columns_page import MARKED
from hopmeter.store.schemas import arrow_type
from tests.cells import cell

ROOT = Path(__file__).parents[2]


def test_the_tables_of_columns_in_the_docs_are_up_to_date(tmp_path: Path) -> None:
    page = Path(shutil.copy(ROOT / "docs/metrics.md", tmp_path))
    subprocess.run([sys.executable, "-m", "hopmeter.model.columns_page", page], cwd=ROOT, check=True)
    remedy = "run `python -m hopmeter.model.columns_page docs/metrics.md`"
    assert (ROOT / "docs/metrics.md").read_text() == page.read_text(), remedy


def test_the_types_of_the_columns_are_up_to_date() -> None:
    assert column_types_file.FILE.read_text() == column_types_file.write(), (
        "run `python -m hopmeter.model.column_types_file`"
    )


def test_the_docs_have_a_table_of_every_section_once() -> None:
    shown = [section for _, section, _ in MARKED.findall((ROOT / "docs/metrics.md").read_text())]
    assert Counter(shown) == Counter(["latencies", *columns.TABLE])


def test_no_table_has_a_name_twice_and_every_type_is_one_of_arrows() -> None:
    for section in columns.TABLE.values():
        names = [name for each in section for name in each]
        assert len(names) == len(set(names))
    in_cells = [
        name
        for section in columns.SECTIONS
        if section != "latencies"
        for each in columns.TABLE[section]
        for name in each
    ]
    assert len(in_cells) == len(set(in_cells))
    assert all(
        arrow_type(kind) for kind in {*columns.CELLS.values(), *columns.TRIALS.values(), *columns.PROCESSES.values()}
    )


def test_a_planned_column_repeats_the_cell() -> None:
    assert set(columns.PLANNED) - {*cell().flat(), "frame_bytes", "graph", "group", "largest_payload_bytes"} == set()
    assert cell(payload_bytes=36)["frame_bytes"] == 100


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        ("response_p50_us", ("response_p50", "µs")),
        ("achieved_mb_s", ("achieved", "MB/s")),
        ("interval_s", ("interval", "s")),
        ("relays", ("relays", "")),
    ],
)
def test_a_column_ends_with_its_unit(column: str, parts: tuple[str, str]) -> None:
    assert columns.unit(column) == parts
