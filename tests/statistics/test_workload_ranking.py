"""Tests for the ranking of whole workloads: simulated error rates and power, and small tables with known answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from hopmeter.statistics.criteria import Decisions, Ids, decide_in_order, ranks_of
from hopmeter.statistics.families import all_pairs_divisors, some_pairs_divisors
from hopmeter.statistics.ranking import CellPair
from hopmeter.statistics.shares.share_tests import ShareTrial, can_differ, compare_shares, counts_p_value
from tests.statistics import workload_simulation as simulation
from tests.statistics.noise_settings import stolen_outliers
from tests.statistics.workload_simulation import POWERS, SETTINGS

MOST_FALSE = 0.065
"""The maximum share of tables of equal transports with any decided pair."""
TABLES = 200
CHANCE = 2.6
"""The number of standard errors by which a simulated share may exceed the limit by chance."""


@pytest.mark.parametrize("cells", [3, 5])
@pytest.mark.parametrize("name", list(SETTINGS))
def test_equal_transports_are_rarely_told_apart(name: str, cells: int) -> None:
    for rounds in (5, 12):
        share = simulation.false_tables(SETTINGS[name], cells, rounds, TABLES)
        assert share <= MOST_FALSE + CHANCE * (MOST_FALSE * (1 - MOST_FALSE) / TABLES) ** 0.5


@pytest.mark.parametrize(
    ("name", "rounds", "least"),
    [
        ("1 % and 4 % miss", 8, 0.9),
        ("0.1 % and 1 % miss", 8, 0.9),
        ("p99 of one flow 2 times", 12, 0.75),
        ("CPU 1.1 times", 12, 0.5),
        ("CPU 1.1 times, the third one misses 10 times as often", 8, 0.9),
    ],
)
def test_a_planned_difference_is_found_by_its_criterion(name: str, rounds: int, least: float) -> None:
    criterion, one = POWERS[name]
    assert simulation.found_differences(one, 3, rounds, criterion, 100) >= least


@pytest.mark.parametrize("cells", [2, 3, 5])
def test_the_simulation_decides_as_a_run_does(cells: int) -> None:
    differing = simulation.Workload(stolen_outliers, 0.02, 1, simulation.Effects(missed=2, p99=2, cpu=1.2))
    drawn = simulation.draw_tables(differing, cells, 8, 12)
    many = simulation.decide_all(drawn)
    found = [simulation.decide_one(drawn, at) for at in range(12)]
    assert sum(map(len, found)) >= 12, "there is something to compare"
    for at, decisions in enumerate(found):
        first = {
            frozenset(pair): (pair if signs[at, place] < 0 else pair[::-1], name)
            for name, signs in reversed(many.items())
            for place, pair in enumerate(drawn.pairs)
            if signs[at, place]
        }
        assert {frozenset(pair): (pair, name) for pair, name in decisions.items()} == {
            frozenset(f"c{cell}" for cell in key): ((f"c{pair[0]}", f"c{pair[1]}"), name)
            for key, (pair, name) in first.items()
        }


def decided_pair(a: str, b: str) -> CellPair:
    return CellPair(a, b, 2.0, 1.5, 3.0, decided=True)


def decide(**decided: list[Ids]) -> Decisions:
    """Decide three cells by criteria that report the given differences for each pair."""

    def compare(pairs: Sequence[Ids], found: list[Ids]) -> list[CellPair]:
        wanted = set(map(frozenset, pairs))
        return [decided_pair(*each) for each in found if frozenset(each) in wanted]

    return decide_in_order("abc", {name: partial(compare, found=found) for name, found in decided.items()})[1]


def test_a_later_criterion_tests_only_what_earlier_ones_leave_open() -> None:
    found = decide(deadlines=[("a", "b")], cpu=[("b", "a"), ("c", "a")])
    assert found == {("a", "b"): "deadlines", ("c", "a"): "cpu"}
    assert ranks_of(["a", "b", "c"], found) == {"a": (2, 2), "b": (2, 3), "c": (1, 2)}


def test_decisions_that_lead_in_a_circle_do_not_count() -> None:
    assert decide(deadlines=[("a", "b")], p99=[("b", "c"), ("c", "a")]) == {("a", "b"): "deadlines"}


@pytest.mark.parametrize(
    ("pairs", "divisors"),
    [("ab", (1,)), ("ab bc ca", (3, 1, 1)), ("ab bc", (2, 1)), ("ab cd", (2, 1)), ("ab bc ca de", (4, 3, 2, 1))],
)
def test_fewer_open_pairs_are_easier_to_decide(pairs: str, divisors: tuple[int, ...]) -> None:
    assert some_pairs_divisors(tuple(map(tuple, pairs.split()))) == divisors
    every = tuple((one, other) for other in range(6) for one in range(other))
    assert some_pairs_divisors(every) == all_pairs_divisors(6)


@pytest.mark.parametrize(("missed", "expected"), [([0, 0, 0], False), ([3, 2, 2], False), ([5, 2, 0], True)])
def test_so_few_misses_that_no_pair_can_differ_need_no_level(missed: list[int], expected: bool) -> None:
    few = [ShareTrial(name, 0, each, 1000) for name, each in zip("abc", missed, strict=True)]
    assert can_differ(few, 0.05 / 3) is expected


def trials(cell: str, events: list[int], messages: int = 1000) -> list[ShareTrial]:
    return [ShareTrial(cell, at, each, messages) for at, each in enumerate(events)]


def test_rounds_that_are_alike_by_chance_do_not_decide_few_misses() -> None:
    (pair,) = compare_shares([*trials("a", [0] * 5), *trials("b", [1] * 5)], [("a", "b")], 0.05)
    assert not pair.decided, "five misses and none are no proof, although all rounds agree"
    assert (pair.a, pair.b) == ("a", "b")
    assert pair.low is not None and pair.low <= 0


def test_many_misses_in_one_trial_decide_nothing() -> None:
    (pair,) = compare_shares([*trials("a", [0] * 5), *trials("b", [0, 0, 400, 0, 0])], [("a", "b")], 0.05)
    assert not pair.decided, "the counts differ much, but only one round does"


def test_misses_in_every_round_decide() -> None:
    both = [*trials("b", [40, 38, 45, 41, 39]), *trials("a", [10, 12, 9, 11, 10])]
    (pair,) = compare_shares(both, [("b", "a")], 0.05)
    assert pair.decided and (pair.a, pair.b) == ("a", "b")
    assert pair.difference == pytest.approx(0.0302)
    assert pair.low is not None and pair.high is not None and 0 < pair.low < pair.difference < pair.high


def test_two_rounds_decide_nothing() -> None:
    (pair,) = compare_shares([*trials("a", [0, 0]), *trials("b", [500, 500])], [("a", "b")], 0.05)
    assert (pair.decided, pair.low, pair.high) == (False, None, None)


@pytest.mark.parametrize(
    ("events", "expected"),
    [([0, 6], 2 / 64), ([3, 3], 1.0), ([0, 0], 1.0), ([1000, 994], 2 / 64)],
)
def test_counts_are_compared_by_the_binomial_test(events: list[int], expected: float) -> None:
    assert counts_p_value(events, [1000, 1000]) == pytest.approx(expected)


def partitions(cells: int, largest: int) -> Iterator[list[int]]:
    """Return the group sizes of every partition of equal cells."""
    if cells == 0:
        yield []
    for size in range(1, min(cells, largest) + 1):
        yield from ([size, *rest] for rest in partitions(cells - size, size))


@pytest.mark.parametrize("cells", [2, 3, 7, 12])
def test_divisors_count_the_pairs_that_may_be_equal_at_once(cells: int) -> None:
    ties = {sum(size * (size - 1) // 2 for size in sizes) for sizes in partitions(cells, cells)}
    pairs = cells * (cells - 1) // 2
    expected = [max(count for count in ties if count <= left) for left in range(pairs, 0, -1)]
    assert list(all_pairs_divisors(cells)) == expected


def test_a_table_of_hundreds_of_cells_has_divisors() -> None:
    """A program cannot enumerate all partitions of that many cells."""
    divisors = all_pairs_divisors(200)
    assert len(divisors) == 19_900
    assert (divisors[0], set(divisors[1:200]), divisors[-1]) == (19_900, {19_701}, 1)
