"""The rounds of repeated searches: their order, their end, and the result that they give to the first row."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.cells.rate_search import HOPELESS, Hunt, set_highest
from hopmeter.analysis.cells.throughput import set_throughput
from hopmeter.model.cell import Cell
from hopmeter.scenario import Scenario
from hopmeter.store.run_folder import RunFolder
from tests.cells import cell

ROUNDS = 3
SCENARIO = Scenario.model_validate(
    {"title": "t", "question": "q?", "duration": "1s", "search": {"rounds": ROUNDS, "factor": 1.2, "lowest": 1}}
)
NEVER = 0.0
"""The highest rate of a transport that fails at every rate."""


def step_row(step: Cell, limit_hz: float) -> dict[str, Any]:
    """Return the row of a step, of a transport that delivers at most `limit_hz`."""
    rate = step.axes.rate_hz
    row: dict[str, Any] = {"cell": step.id, "rate_hz": rate, "payload_bytes": 1000, "frame_bytes": 1064, "warnings": []}
    row |= {"search_round": step.comparison.search_round, "status": "ok", "reason": None, "trials": 1}
    row |= {"trials_good": 1, "lost": 0, "received": 100, "achieved_hz": rate, "search_failed": None}
    row["require"] = "undecided"
    row["achieved_mb_s"] = limit_hz * 1064 / 1e6
    row["lag_share"] = rate and max(0.0, rate / limit_hz - 1) if limit_hz else None
    failed = {"status": "failed", "reason": "it crashed [E-NODE-DIED]", "trials_good": 0}
    return row if limit_hz or rate is None else row | failed


def search(folder: Path, limits_hz: Mapping[str, float]) -> tuple[list[Cell], list[dict[str, Any]]]:
    """Search the highest rate of each transport, and return the cells in execution order and the rows."""
    cells = [
        cell(id=name, search=name, search_round=0, transport=name, pace="max", rate_hz=None, payload="bytes:1000")
        for name in limits_hz
    ]
    stored = RunFolder.create(folder, "run", {"cells": [each.as_json() for each in cells], "scenario": {}, "seed": 5})
    assert SCENARIO.search is not None
    hunt = Hunt(SCENARIO, SCENARIO.search, stored)
    new = list(cells)
    while new:
        hunt._rows |= {each.id: step_row(each, limits_hz[each.comparison.search]) for each in new}
        new = hunt.next_cells()
        cells += new
        stored.note(cells=[each.as_json() for each in cells])
    rows = [step_row(each, limits_hz[each.comparison.search]) for each in cells]
    set_highest(SCENARIO.search, [], cells, rows)
    set_throughput(cells, rows, [])
    return cells, rows


def test_all_searches_finish_a_round_before_the_next_round_begins(tmp_path: Path) -> None:
    cells, rows = search(tmp_path, {"slow": 1000.0, "fast": 3000.0})
    rounds = [each.comparison.search_round or 0 for each in cells]
    assert all(one <= other for one, other in pairwise(rounds)) and rounds[-1] == ROUNDS
    slow, fast = rows[:2]
    assert slow["throughput_hz"] == pytest.approx(1000, rel=0.15) and slow["rounds"] == ROUNDS
    assert fast["throughput_hz"] == pytest.approx(3000, rel=0.15) and fast["throughput_limit"] == "queue"
    assert fast["throughput_mb_s"] == pytest.approx(fast["throughput_hz"] * 1000 / 1e6)
    assert (fast["rank_low"], fast["rank_high"], slow["rank_low"]) == (1, 1, 2)
    assert slow["require"] is None, "the search keeps the requirements, so the flood has no verdict"
    assert slow["ratio_to_best"] == pytest.approx(fast["throughput_hz"] / slow["throughput_hz"])
    assert all(row["throughput_hz"] is None for row in rows[2:] if "throughput_hz" in row)


def test_a_slow_step_is_not_extended_for_its_percentiles(tmp_path: Path) -> None:
    cells, _ = search(tmp_path, {"slow": 3.0})
    seconds = [each.schedule.messages / each.axes.rate_hz for each in cells if each.axes.rate_hz]
    assert max(seconds) <= 20 and min(each.schedule.messages for each in cells[1:]) >= 20


def test_a_transport_that_always_fails_is_not_searched_again(tmp_path: Path) -> None:
    cells, rows = search(tmp_path, {"broken": NEVER, "good": 500.0})
    assert [each.comparison.search_round for each in cells if each.comparison.search == "broken"] == [
        0,
        *[1] * HOPELESS,
    ]
    assert rows[0]["status"] == "failed" and rows[0]["reason_code"] == "E-NODE-DIED"
    assert rows[1]["status"] == "ok"
