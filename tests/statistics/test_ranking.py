"""Tests for ranks, ratios and intervals of small tables with known answers."""

import math

import numpy as np
import pytest

from hopmeter.statistics import Observation, Ranking, detectable, fit, rounds_needed


def observe(
    levels: dict[str, float], rounds: int, sd: float = 0.05, seed: int = 1, share: float = 1
) -> list[Observation]:
    rng = np.random.default_rng(seed)
    drift = rng.normal(0, 0.3, rounds)
    return [
        Observation(cell, at, level * math.exp(drift[at] + rng.normal(0, sd)), 0.0)
        for at in range(rounds)
        for cell, level in levels.items()
        if rng.random() < share
    ]


SEVEN = {f"c{at}": 50 * 1.5**at for at in range(7)}


def test_separate_cells_are_ranked_in_order() -> None:
    ranking = fit(observe(SEVEN, 10))
    assert ranking.ranks == {cell: (at + 1, at + 1) for at, cell in enumerate(SEVEN)}
    assert ranking.best == "c0"
    pair = next(each for each in ranking.pairs if each.cells == {"c0", "c2"})
    assert pair.low < 2.25 < pair.high
    assert pair.low < pair.ratio < pair.high
    assert pair.ratio == pytest.approx(ranking.distance("c0", "c2"))


@pytest.mark.parametrize("cells", [2, 3, 4, 7])
def test_a_pair_is_decided_exactly_if_its_interval_excludes_1(cells: int) -> None:
    levels = {f"c{at}": 1 + 0.03 * at for at in range(cells)}
    for seed in range(5):
        ranking = fit(observe(levels, 12, seed=seed))
        assert len(ranking.pairs) == cells * (cells - 1) // 2
        for pair in ranking.pairs:
            assert pair.ratio >= 1
            assert pair.decided == (pair.low > 1)


def test_the_drift_of_rounds_does_not_widen_a_ratio_but_widens_a_level() -> None:
    ranking = fit(observe({"a": 50, "b": 60}, 12, sd=0.01))
    pair = ranking.pairs[0]
    assert pair.high / pair.low < 1.05
    _, low, high = ranking.levels["a"]
    assert high / low > 1.2


def test_fewer_than_three_rounds_decide_nothing() -> None:
    ranking = fit(observe(SEVEN, 2))
    assert not any(pair.decided for pair in ranking.pairs)
    assert all(pair.low is None and pair.high is None for pair in ranking.pairs)
    assert set(ranking.ranks.values()) == {(1, 7)}
    assert rounds_needed(ranking, 1.5) is None


def test_cells_without_common_rounds_are_not_decided() -> None:
    other = [Observation("later", 100 + each.round, 10 * each.value) for each in observe({"x": 50}, 8)]
    ranking = fit(observe(SEVEN, 8) + other)
    assert ranking.ranks["later"] == (1, 8)
    assert ranking.rounds == dict.fromkeys(SEVEN, 8) | {"later": 8}


def test_missing_trials_are_no_reason_to_decide_wrongly() -> None:
    ranking = fit(observe(SEVEN, 16, share=0.7))
    assert ranking.ranks == {cell: (at + 1, at + 1) for at, cell in enumerate(SEVEN)}


@pytest.mark.parametrize(
    "rows",
    [[], [Observation("a", 0, math.nan)], [Observation("a", 0, 5)], [Observation("a", at, 5) for at in range(5)]],
)
def test_a_table_without_pairs_has_no_pairs(rows: list[Observation]) -> None:
    ranking = fit(rows)
    assert ranking.pairs == ()
    assert set(ranking.ranks.values()) <= {(1, 1)}


@pytest.mark.parametrize("cells", [2, 3, 6])
@pytest.mark.parametrize("step", [0, 1])
def test_values_without_variance(cells: int, step: int) -> None:
    """Equal constant values are equal; different constant values are decided."""
    ranking = fit([Observation(f"c{at}", each, 20 + step * at) for at in range(cells) for each in range(4)])
    assert all(pair.decided == bool(step) for pair in ranking.pairs)
    assert all(math.isfinite(pair.ratio) for pair in ranking.pairs)


def test_values_at_or_below_zero_are_compared_by_difference() -> None:
    rows = [
        Observation(cell, at, base + 0.1 * (at * ord(cell) % 3), 0)
        for cell, base in zip("abcde", (-2, 0, 3, 5, 9), strict=True)
        for at in range(8)
    ]
    ranking = fit(rows)
    assert ranking.scale == "difference"
    assert ranking.best == "a"
    pair = next(each for each in ranking.pairs if (each.a, each.b) == ("a", "b"))
    assert pair.ratio is None
    assert pair.low < 2 < pair.high
    assert pair.decided
    assert ranking.distance("a", "b") == pytest.approx(2, abs=0.1)
    assert ranking.levels["a"][0] == pytest.approx(-1.9, abs=0.1)


def test_versus_the_best_compares_fewer_pairs() -> None:
    with_best = fit(observe(SEVEN, 8), versus="best")
    assert all(pair.a == "c0" for pair in with_best.pairs)
    assert len(with_best.pairs) == 6


def test_references_have_no_rank_and_take_nothing_from_the_choices() -> None:
    rows = observe(SEVEN, 8)
    alone = fit([each for each in rows if each.cell not in ("c0", "c3")])
    beside = fit(rows, references={"c0", "c3"})
    assert beside.choices == ("c1", "c2", "c4", "c5", "c6")
    assert beside.best == "c1" and beside.ranks == alone.ranks
    chosen = [pair for pair in beside.pairs if pair.family == "choices"]
    assert len(chosen) == len(alone.pairs) == 10
    assert {pair.level for pair in chosen} == {pair.level for pair in alone.pairs}
    others = [pair for pair in beside.pairs if pair.family == "references"]
    assert len(others) == 11 and all(pair.cells & {"c0", "c3"} for pair in others)
    assert all(pair.decided for pair in others)


def test_references_beside_the_best_are_compared_with_all_choices() -> None:
    ranking = fit(observe(SEVEN, 8), versus="best", references={"c0"})
    assert ranking.best == "c1"
    assert len([pair for pair in ranking.pairs if pair.family == "choices"]) == 5
    assert len([pair for pair in ranking.pairs if pair.family == "references"]) == 6


def test_references_alone_have_no_best_and_no_rank() -> None:
    ranking = fit(observe({"x": 5, "y": 9}, 8), references={"x", "y"})
    assert ranking.best is None and ranking.ranks == {} and ranking.choices == ()
    assert [(pair.a, pair.b, pair.decided) for pair in ranking.pairs] == [("x", "y", True)]
    assert set(ranking.levels) == {"x", "y"}


def test_the_order_of_observations_does_not_matter() -> None:
    rows = observe(SEVEN, 8)
    one, other = fit(rows), fit(rows[::-1])
    assert one.ranks == other.ranks
    assert one.levels["c3"] == pytest.approx(other.levels["c3"])


def test_disturbed_trials_weigh_little() -> None:
    rng = np.random.default_rng(5)
    rows = []
    for at in range(12):
        for cell in range(8):
            steal = 0.5 if rng.random() < 0.2 else 0.01
            noise = rng.normal(0, 0.05 * math.sqrt(1 + 400 * steal**2))
            rows.append(Observation(f"c{cell}", at, 50 * (1 + 0.2 * cell) * math.exp(noise), steal))
    known, unknown = fit(rows), fit([Observation(each.cell, each.round, each.value) for each in rows])
    assert known.noise.steal_weight > 50
    assert known.noise.worst_steal == 0.5
    assert unknown.noise.steal_weight == 0
    assert known.pairs[0].error < unknown.pairs[0].error


def decided_share(ratio: float, rounds: int) -> float:
    levels = {"a": 50, "b": 50 * ratio, "c": 90, "d": 120, "e": 200, "f": 300}
    tables = [fit(observe(levels, rounds, seed=seed), versus="best") for seed in range(60)]
    return np.mean([next(each for each in table.pairs if each.cells == {"a", "b"}).decided for table in tables])


def test_detectable_ratios_are_detected() -> None:
    ranking = fit(observe({"a": 50, "b": 52, "c": 90, "d": 120, "e": 200, "f": 300}, 10), versus="best")
    pair = next(each for each in ranking.pairs if each.cells == {"a", "b"})
    ratio = detectable(pair.error, pair.freedom, pair.level)
    assert 1.03 < ratio < 1.2
    assert 0.6 < decided_share(ratio, 10) <= 1


def test_rounds_needed_fall_with_the_ratio_and_suffice() -> None:
    levels = {"a": 50, "b": 52, "c": 90, "d": 120, "e": 200, "f": 300}
    ranking: Ranking = fit(observe(levels, 10), versus="best")
    few, many = rounds_needed(ranking, 1.3), rounds_needed(ranking, 1.05, "a", "b")
    assert 3 <= few < many < 60
    assert decided_share(1.05, many) > 0.6
