"""Tests for verdicts from one interval, and for the significance level that each look spends."""

import math

import numpy as np
import pytest

from hopmeter.statistics import (
    CellPair,
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


def rank(rounds: int, sd: float, alpha: float = 0.05, seed: int = 3, b: float = 110) -> Ranking:
    rng = np.random.default_rng(seed)
    levels = {"a": 100, "b": b, "c": 112, "d": 200, "e": 300}
    noise = rng.normal(0, sd, (rounds, len(levels)))
    return fit(
        [
            Observation(cell, at, level * math.exp(noise[at, place]))
            for at in range(rounds)
            for place, (cell, level) in enumerate(levels.items())
        ],
        alpha,
    )


def pair_of(ranking: Ranking, *cells: str) -> CellPair:
    return next(each for each in ranking.pairs if each.cells == set(cells))


def test_a_pair_that_only_an_earlier_look_decided_keeps_its_interval() -> None:
    earlier, later = rank(8, 0.01), rank(8, 0.06)
    before, after = (pair_of(each, "a", "b") for each in (earlier, later))
    assert before.decided and not after.decided and after.low < 1
    together = retain_decisions(earlier, later)
    pair = pair_of(together, "a", "b")
    assert pair.decided and pair.stopped_early and pair.high == before.high
    assert 1 < pair.low == later.distance("a", "b") < before.low
    assert together.levels == later.levels
    far = pair_of(together, "a", "e")
    assert far == pair_of(later, "a", "e") and far.decided and not far.stopped_early
    assert retain_decisions(later, earlier) == earlier


def test_later_levels_may_contradict_an_early_decision() -> None:
    earlier, later = rank(8, 0.01), rank(8, 0.06, b=101)
    assert later.distance("a", "b") < 1
    assert pair_of(earlier, "a", "b").decided
    pair = pair_of(retain_decisions(earlier, later), "a", "b")
    assert pair == pair_of(later, "a", "b") and not pair.decided


def test_a_smaller_level_makes_intervals_wider() -> None:
    wide, narrow = rank(8, 0.05, 0.001).pairs[0], rank(8, 0.05).pairs[0]
    assert wide.low < narrow.low <= narrow.high < wide.high


def test_precise_takes_eight_rounds() -> None:
    assert is_precise(rank(8, 0.01), "a")
    assert not is_precise(rank(7, 0.01), "a")
    assert not is_precise(rank(8, 0.2), "a")
