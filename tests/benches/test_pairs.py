"""Tests for the verdict of a bench on its limit, and for when the bench measures more pairs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"
ASKED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pairs import Comparison, print_comparisons, pair_rounds
ratios, (limit, most) = json.loads(sys.argv[2]), json.loads(sys.argv[3])
found = Comparison("a row", limit, most=most)
for number in pair_rounds([found]):
    found.add(ratios[number], 1.0)
print(json.dumps([found.pairs, found.verdict, print_comparisons([found])]))
"""
AT_ONCE, LATER = 10, 30


def run_rounds(ratios: list[float], limit: float | None, most: float | None = None) -> list[Any]:
    command = [sys.executable, "-c", ASKED, str(BENCHES), json.dumps(ratios), json.dumps([limit, most])]
    said = subprocess.check_output(command, text=True, env={**os.environ, "HOPMETER_PAIRS": str(AT_ONCE)})
    return list(json.loads(said.splitlines()[-1]))


def around(middle: float, spread: float) -> list[float]:
    """Return thirty ratios with the given median; any ten of these ratios have the same median."""
    return [middle + spread * part for part in (-1, 1)] * 15


@pytest.mark.parametrize(
    ("ratios", "limit", "pairs", "verdict", "code"),
    [
        (around(1.00, 0.10), 1.05, AT_ONCE, "holds", 0),
        (around(1.20, 0.01), 1.05, LATER, "MISSED", 1),
        (around(1.10, 0.10), 1.05, LATER, "not resolved", 0),
        (around(1.10, 0.10)[:10] + [1.0] * 20, 1.05, LATER, "holds", 0),
        (around(1.10, 0.10)[:10] + [1.2] * 20, 1.05, LATER, "MISSED", 1),
        (around(9.00, 0.10), None, AT_ONCE, "holds", 0),
    ],
)
def test_a_limit_holds_by_the_median_and_is_missed_by_the_whole_interval(
    ratios: list[float], limit: float | None, pairs: int, verdict: str, code: int
) -> None:
    assert run_rounds(ratios, limit) == [pairs, verdict, code]


def test_the_worse_of_two_limits_counts_where_theirs_stays_within_it() -> None:
    assert run_rounds(around(1.10, 0.01), 1.2, most=1.05) == [LATER, "MISSED", 1]
    assert run_rounds(around(1.10, 0.01), 1.2, most=0.5) == [AT_ONCE, "holds", 0]
