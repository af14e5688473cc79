"""Tests for the ratio of a flow's latency in the workload to its latency alone, with an interval over pairs of
rounds."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from hopmeter.analysis.workload.times_alone import set_times_alone
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow, Participant, Workload
from hopmeter.plan.workloads.alone import add_cells_alone
from hopmeter.plan.workloads.workload_cells import rows_of
from tests import cells
from tests.coded import lacking

FLOWS = (
    Flow(0, "timing", 0, "urgent", "a", ("b",), rate_hz=10.0, deadline_s=0.01),
    Flow(1, "timing", 0, "other", "b", ("a",), rate_hz=10.0),
)
WORKLOAD = Workload((Participant("a", "rust", "block"), Participant("b", "rust", "block")), FLOWS)
BESIDE, ALONE = "c1.urgent", "c1-alone-urgent.urgent"

Trials = list[dict[str, Any]]


@pytest.fixture
def rows() -> tuple[list[Cell], dict[str, dict[str, Any]]]:
    every = [row for cell in add_cells_alone([cells.cell(workload=WORKLOAD)]) for row in rows_of(cell)]
    return every, {
        each.id: {"cell": each.id, "flow": each.flow, "status": "ok", "reason": None, "warnings": []} for each in every
    }


def trials(row: str, ratio: float, rounds: range, noise: float = 0.05, **more: Any) -> Trials:
    """Return trials of a row whose medians are `ratio` times a level that drifts between rounds."""
    draw = random.Random(row)
    values = [ratio * 100 * 1.5**number * math.exp(draw.gauss(0, noise)) for number in rounds]
    return [
        {"cell": row, "round": number, "good": True, "median_us": value, "response_p99_us": 3 * value} | more
        for number, value in zip(rounds, values, strict=True)
    ]


def analyse(rows: tuple[list[Cell], dict[str, dict[str, Any]]], *parts: Trials) -> dict[str, Any]:
    every, by_id = rows
    set_times_alone(every, list(by_id.values()), [trial for part in parts for trial in part])
    return by_id[BESIDE]


@pytest.mark.parametrize("ratio", [0.5, 1.8, 10])
def test_the_ratio_is_that_of_each_round_however_the_rounds_differ(rows: Any, ratio: float) -> None:
    row = analyse(rows, trials(ALONE, 1, range(8)), trials(BESIDE, ratio, range(8)))
    for name in ("times_alone", "times_alone_p99"):
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
        assert row[f"{name}_low"] < ratio < row[f"{name}_high"]
        assert row[f"{name}_high"] / row[f"{name}_low"] < 1.2, "the drift of the rounds is not in the interval"


def test_the_interval_of_flows_without_a_cost_of_company_includes_one_in_95_percent(rows: Any) -> None:
    hits, many = 0, 200
    for number in range(many):
        parts = [trials(name, 1, range(6)) for name in (ALONE, BESIDE)]
        draw = random.Random(number)
        for trial in (*parts[0], *parts[1]):
            trial["median_us"] *= math.exp(draw.gauss(0, 0.2))
        row = analyse(rows, *parts)
        hits += row["times_alone_low"] <= 1 <= row["times_alone_high"]
    assert 0.9 <= hits / many <= 0.99


def test_only_rounds_that_measured_both_count(rows: Any) -> None:
    row = analyse(rows, trials(ALONE, 1, range(4)), trials(BESIDE, 2, range(4)), trials(BESIDE, 90, range(4, 9)))
    assert row["times_alone_low"] < 2 < row["times_alone_high"] < 3


def test_two_rounds_give_no_interval_and_none_no_ratio(rows: Any) -> None:
    row = analyse(rows, trials(ALONE, 1, range(2)), trials(BESIDE, 2, range(2)))
    assert row["times_alone"] == pytest.approx(2, rel=0.2)
    assert row["times_alone_low"] is row["times_alone_high"] is None
    assert analyse(rows, trials(BESIDE, 2, range(2)))["times_alone"] is None


def test_a_p99_that_a_trial_does_not_resolve_is_not_compared(rows: Any) -> None:
    parts = [trials(ALONE, 1, range(5)), trials(BESIDE, 2, range(5))]
    for missing in (None, math.inf):
        parts[0][2]["response_p99_us"] = missing
        row = analyse(rows, *parts)
        assert row["times_alone"] is not None and row["times_alone_p99"] is None


def test_failed_trials_do_not_count(rows: Any) -> None:
    bad = trials(ALONE, 50, range(2, 3), good=False)
    row = analyse(rows, trials(ALONE, 1, range(2)), bad, trials(ALONE, 1, range(3, 6)), trials(BESIDE, 2, range(6)))
    assert row["times_alone"] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(("status", "warned"), [("failed", True), ("saturated", True), ("dropped", False)])
def test_a_flow_that_has_no_latency_alone_has_a_warning(rows: Any, status: str, warned: bool) -> None:
    rows[1][ALONE] |= {"status": status, "reason": "broken [E-NODE-DIED]"}
    row = analyse(rows, trials(ALONE, 1, range(4)), trials(BESIDE, 2, range(4)))
    assert "times_alone" not in row
    assert [lacking(text, f"W-NOT-ALONE urgent {status} broken") for text in row["warnings"]] == [[]] * warned


def test_other_rows_have_no_ratio(rows: Any) -> None:
    analyse(rows, trials(ALONE, 1, range(4)), trials(BESIDE, 2, range(4)))
    assert [name for name, row in rows[1].items() if "times_alone" in row] == [BESIDE]
