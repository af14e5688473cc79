"""Tests for the summary of the bench `first_look`, with synthetic looks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"
ASKED = """
import sys
sys.path.insert(0, sys.argv[1])
from first_look import Count, Look, is_wrong, limits
from hopmeter.analysis.ranking.rounds import Comparison
rounds, seconds, undecided, wrong = map(float, sys.argv[2:6])
looks = [Look(int(rounds), seconds, undecided, {}, [("t", "a", "b")] * int(wrong))] * 10
print(*limits(looks).values(), sep=",")
truth, close = Comparison("a", "b", 2.0, 1.5, 3.0, True), Comparison("a", "b", 1.1, 0.8, 1.4, False)
seen = Comparison("a", "b", 0.5, 0.3, 0.8, True)
pairs, decided = {("t", "a", "b"): truth, ("t", "a", "c"): close}, {("t", "a", "b"): truth}
assert str(Count.of(decided, pairs)) == "1 of 1" and str(Count.of({}, pairs)) == "0 of 1"
assert str(Count.of({("t", "a", "b"): seen}, pairs)) == "1 of 1, 1 the wrong way"
assert is_wrong(seen, truth) and not is_wrong(seen, close) and not is_wrong(truth, truth)
"""
HOLDS, MISSED = "holds", "MISSED"


@pytest.mark.parametrize(
    ("look", "verdicts"),
    [
        (("8", "90", "0.1", "0"), [HOLDS, HOLDS, HOLDS, HOLDS]),
        (("7", "90", "0.1", "0"), [HOLDS, HOLDS, HOLDS, MISSED]),
        (("8", "91", "0.1", "0"), [HOLDS, HOLDS, MISSED, HOLDS]),
        (("8", "90", "0.1", "1"), [HOLDS, MISSED, HOLDS, HOLDS]),
        (("8", "90", "0.2", "0"), [MISSED, HOLDS, HOLDS, HOLDS]),
    ],
)
def test_each_limit_has_its_verdict(look: tuple[str, ...], verdicts: list[str]) -> None:
    said = subprocess.check_output([sys.executable, "-c", ASKED, str(BENCHES), *look], text=True)
    assert said.strip().split(",") == verdicts
