"""Tests for the error rates of a run with a budget, over hundreds of simulated runs."""

from __future__ import annotations

import math

import pytest

from ..cells import cell
from .simulated_budget import Run, larger, plan


def test_a_stated_precision_holds_as_often_as_it_says() -> None:
    truth, misses, many = 10.0, 0, 200
    for seed in range(many):
        run = Run(plan([cell(id=f"s{seed}", transport="t10")], "100s", until="±5%"), noise=0.1)
        run.counts()
        values = [run.value(run.made.cells[0], trial) for trial in run.trials]
        assert len(values) >= 8
        misses += abs(math.exp(sum(map(math.log, values)) / len(values)) / truth - 1) > 0.05
    assert misses <= 0.065 * many


@pytest.mark.parametrize("noise", [(0.1, 0.1), (0.05, 0.4)])
def test_tables_that_share_a_budget_call_equal_cells_different_as_seldom_as_they_say(
    noise: tuple[float, float],
) -> None:
    many, wrong = 60, {"timing": 0, "bytes:9": 0}
    for seed in range(many):
        cells = [cell(id=f"e{seed}-{number}", transport="t10", installable=number < 4) for number in range(5)]
        run = Run(plan([*cells, *larger(cells)], "60s"))
        run.noise_of = lambda cell: noise[cell.axes.payload == "bytes:9"]
        list(run.rounds())
        for table in run.budget._tables:
            wrong[table.cells[0].axes.payload] += bool(table.decided)
    assert max(wrong.values()) <= 0.065 * many


def test_the_looks_judge_wrongly_as_seldom_as_they_say() -> None:
    wanted, many, wrong = {"until": "require", "require": ["p50 < 10us"]}, 200, 0
    for seed in range(many):
        run = Run(plan([cell(id=f"q{seed}", transport="t10")], "30s", **wanted), noise=0.1)
        run.counts()
        wrong += not any(table.open for table in run.budget._tables)
    assert wrong <= 0.065 * many
