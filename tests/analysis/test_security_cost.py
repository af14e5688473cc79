"""Tests for the ratios of an encrypted row to the row that differs only in having no encryption."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from hopmeter.analysis.ranking.security_cost import set_security_cost
from hopmeter.model.cell import Cell
from tests import cells

RATIO, CPU_RATIO = 2.0, 4.0


def cell(name: str, **settings: Any) -> Cell:
    return cells.cell(id=name, transport="zeromq", settings={"endpoint": "tcp", "security": "off"} | settings)


PLAIN, SECURE = cell("c1"), cell("c2", security="curve")


def trials(one: Cell, times: float, cpu_times: float, rounds: int = 8) -> list[dict[str, Any]]:
    """Return one trial for each round. The values of a trial are multiples of a level that drifts between rounds."""
    draw = random.Random(one.id)
    levels = [100 * 1.5**number * math.exp(draw.gauss(0, 0.02)) for number in range(rounds)]
    return [
        {"cell": one.id, "round": number, "good": True, "median_us": times * level, "cpu_us": cpu_times * level}
        for number, level in enumerate(levels)
    ]


def analyse(*every: Cell, status: str = "ok", rounds: int = 8) -> dict[str, Any]:
    """Return the row of `SECURE` among the rows of the given cells."""
    rows = [{"cell": each.id, "status": status if each is SECURE else "ok"} for each in every]
    measured = [*trials(PLAIN, 1, 1, rounds), *trials(SECURE, RATIO, CPU_RATIO, rounds)]
    set_security_cost(every, rows, measured)
    return next(row for row in rows if row["cell"] == SECURE.id)


def test_the_ratios_are_those_of_each_round() -> None:
    row = analyse(SECURE, PLAIN)
    assert (row["security"], row["unsecured"]) == ("curve", PLAIN.id) and row["security_covers"]
    for name, ratio in (("times_unsecured", RATIO), ("cpu_times_unsecured", CPU_RATIO)):
        assert row[f"{name}_low"] < ratio < row[f"{name}_high"]
        assert row[f"{name}_high"] / row[f"{name}_low"] < 1.2, "the drift of the rounds is not in the interval"


def test_few_rounds_have_no_interval() -> None:
    row = analyse(SECURE, PLAIN, rounds=2)
    assert row["times_unsecured"] == pytest.approx(RATIO, rel=0.2) and row["times_unsecured_low"] is None


@pytest.mark.parametrize("other", [cell("c1", endpoint="ipc"), cell("c1", security="curve")])
def test_a_row_is_compared_only_with_one_that_differs_in_nothing_else(other: Cell) -> None:
    assert "unsecured" not in analyse(SECURE, other)


def test_a_row_without_a_result_has_no_ratios() -> None:
    row = analyse(SECURE, PLAIN, status="saturated")
    assert row["unsecured"] == PLAIN.id and "times_unsecured" not in row
