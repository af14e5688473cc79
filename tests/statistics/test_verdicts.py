"""Verdicts from one interval, and what looks spend."""

import math

import numpy as np
import pytest

from hopmeter.statistics import (
    Observation,
    Ranking,
    fit,
    is_precise,
    look_rounds,
    retain_decisions,
    spend,
    verdict,
)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.06, 1.2, "much_slower"),
        (1.01, 1.2, "slower"),
        (1.01, 1.04, "same"),
        (0.96, 0.99, "same"),
        (0.97, 1.03, "same"),
        (0.9, 0.99, "faster"),
        (0.8, 0.9, "much_faster"),
        (0.9, 1.2, "undecided"),
        (1.0, 1.2, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_verdicts_do_not_overlap(low: float | None, high: float | None, expected: str) -> None:
    assert verdict(1.0, low, high) == expected


def test_looks_spend_the_level_once() -> None:
    spent = 0.0
    levels = []
    for share in (0.25, 0.5, 0.75, 1):
        levels.append(spend(share, spent))
        spent += levels[-1]
    assert spent == pytest.approx(0.05)
    assert levels == sorted(levels)
    assert levels[0] < 0.001
    assert spend(1, 0) == pytest.approx(0.05)
    assert spend(0.5, 0.05) == 0
    assert spend(0, 0) == 0


def test_looks_are_few_and_the_last_one_is_at_the_end() -> None:
    assert look_rounds(8) == (5, 8)
    assert look_rounds(12) == (5, 8, 12)
    assert look_rounds(60) == (18, 27, 40, 60)
    assert look_rounds(3) == (3,)


def rank(rounds: int, sd: float, alpha: float = 0.05) -> Ranking:
    rng = np.random.default_rng(3)
    levels = {"a": 100, "b": 110, "c": 112, "d": 200, "e": 300}
    noise = rng.normal(0, sd, (rounds, len(levels)))
    return fit(
        [
            Observation(cell, at, level * math.exp(noise[at, place]))
            for at in range(rounds)
            for place, (cell, level) in enumerate(levels.items())
        ],
        alpha,
    )


def test_a_later_look_retains_what_an_earlier_one_decided() -> None:
    earlier, later = rank(8, 0.01), rank(8, 0.3)
    assert earlier.ranks["a"] == (1, 1)
    assert later.ranks["a"] != (1, 1)
    together = retain_decisions(earlier, later)
    assert together.ranks["a"] == (1, 1)
    decided = {(each.a, each.b) for each in together.pairs if each.decided}
    assert decided >= {(each.a, each.b) for each in earlier.pairs if each.decided}
    assert together.levels == later.levels
    assert retain_decisions(later, earlier) == earlier


def test_a_smaller_level_makes_intervals_wider() -> None:
    wide, narrow = rank(8, 0.05, 0.001).pairs[0], rank(8, 0.05).pairs[0]
    assert wide.low < narrow.low <= narrow.high < wide.high


def test_precise_takes_eight_rounds() -> None:
    assert is_precise(rank(8, 0.01), "a")
    assert not is_precise(rank(7, 0.01), "a")
    assert not is_precise(rank(8, 0.2), "a")
