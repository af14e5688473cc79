"""Compare two cells by the rounds that measured both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hopmeter.analysis.ranking.rounds import UNKNOWN, Bounds, TableRanking, Values
from hopmeter.statistics import Observation, fit


def compare_rounds(a: str, b: str, trials: Sequence[Values], column: str) -> Bounds:
    """Return the ratio of the values of the cell `b` to those of the cell `a` in a column of the trials, with its
    interval. The ratio is unknown if no round measured both cells, or if a trial of such a round has no value."""
    here, there = _by_round(a, trials), _by_round(b, trials)
    common = sorted(here.keys() & there.keys())
    values = [each[number].get(column) for number in common for each in (here, there)]
    if not values or any(value is None or not math.isfinite(value) for value in values):
        return UNKNOWN
    seen = [
        Observation(cell, number, trial[number][column], trial[number].get("steal_share"))
        for cell, trial in ((a, here), (b, there))
        for number in common
    ]
    compared = TableRanking("", fit(seen)).compare(a, b)
    return compared.bounds if compared else UNKNOWN


def _by_round(cell: str, trials: Sequence[Values]) -> Mapping[int, Values]:
    mine = [trial for trial in trials if trial["cell"] == cell and trial["good"]]
    return {trial["round"]: trial for trial in mine if trial.get("round") is not None}
