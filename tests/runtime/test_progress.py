"""Tests for the progress display of a run with a budget."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import pytest

from hopmeter.model.cell import Cell
from hopmeter.runtime.interim_table import interim_table
from hopmeter.runtime.order import PlannedTrial
from hopmeter.runtime.progress import BudgetProgress
from hopmeter.system.terminal import Console
from tests.cells import cell

CELLS = [cell(id=name, transport=name, payload="timing") for name in ("zenoh", "nng", "shm")]


@dataclass
class FakeBudget:
    left_s: float
    budget_s: float = 90.0
    status: str = "2 of 3 pairs open, 50 s left"
    medians: list[tuple[Cell, float]] = field(
        default_factory=lambda: list(zip(CELLS, (21.43, 1234.5, 9.0), strict=True))
    )


def show_text(left_s: float, is_terminal: bool, height: int = 30) -> str:
    written = io.StringIO()
    console = Console(file=written, force_terminal=is_terminal, width=100, height=height, color_system=None)
    with BudgetProgress(console, FakeBudget(left_s)) as progress:
        progress.begin(PlannedTrial(CELLS[0], 0, 0, 1))
    return written.getvalue()


@pytest.mark.parametrize(
    ("left_s", "is_terminal", "expected"), [(50, True, True), (70, True, False), (50, False, False)]
)
def test_the_medians_so_far_are_shown_after_half_a_minute_on_a_terminal(
    left_s: float, is_terminal: bool, expected: bool
) -> None:
    said = show_text(left_s, is_terminal)
    assert ("1,234" in said and "21.4" in said and "medians so far" in said) is expected
    assert "pairs open" in said


def test_a_low_terminal_shows_fewer_rows_and_counts_the_others() -> None:
    said = show_text(50, True, height=7)
    assert "zenoh" in said and "and 2 others" in said and "shm" not in said


def test_each_table_of_the_run_is_a_column() -> None:
    image = cell(id="image", transport="zenoh", payload="image:8x8", rate_hz=30.0)
    table = interim_table([(CELLS[0], 20.0), (CELLS[1], 10.0), (image, 900.0)], 10)
    assert [column.header for column in table.columns] == ["", "timing, 1,000 Hz", "image:8x8, 30 Hz"]
    assert [list(column.cells) for column in table.columns][1:] == [["20", "10"], ["900", ""]]
