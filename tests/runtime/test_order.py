"""The order of trials: rounds of one table each, without a break."""

from __future__ import annotations

from itertools import groupby

from hopmeter.model.trial import TrialResult
from hopmeter.runtime.order import Turn, tables, turns, with_counterparts

from ..cells import cell

SMALL = [cell(id=f"s{number}", transport=f"t{number}", trials=3) for number in range(10)]
LARGE = [
    cell(id=f"l{number}", transport=f"t{number}", payload="bytes:99", payload_bytes=99, trials=3) for number in range(5)
]
CELLS = [each for pair in zip(SMALL, LARGE * 2, strict=True) for each in pair if each in SMALL or pair[0] in SMALL[:5]]


def stretches(order: list[Turn]) -> list[tuple[str, int, list[str]]]:
    """Return the rounds as they follow each other in time."""
    grouped = groupby(order, key=lambda turn: (turn.cell.group, turn.round))
    return [(group, number, [turn.cell.id for turn in of_round]) for (group, number), of_round in grouped]


def result(of: Turn, number: int | None) -> TrialResult:
    return TrialResult(of.cell.id, of.trial, good=True, order=of.order, round=number)


def test_a_round_is_one_trial_of_every_cell_of_one_table_and_the_tables_take_turns() -> None:
    small, large = SMALL[0].group, LARGE[0].group
    rounds = stretches(turns(CELLS, 1))
    assert [(group, number) for group, number, _ in rounds] == [
        (group, number) for number in range(3) for group in (small, large)
    ]
    for group, _, ids in rounds:
        assert sorted(ids) == [each.id for each in (SMALL if group == small else LARGE)]
    assert rounds[0][2] != rounds[2][2] != sorted(rounds[2][2])


def test_the_seed_alone_sets_the_order() -> None:
    once = turns(CELLS, 1)
    assert once == turns(CELLS, 1)
    assert [turn.cell.id for turn in once] != [turn.cell.id for turn in turns(CELLS, 2)]
    assert [turn.order for turn in once] == list(range(45))


def test_a_cell_with_fewer_trials_leaves_the_later_rounds() -> None:
    few = SMALL[0].with_values(trials=1)
    rounds = stretches(turns([few, *SMALL[1:]], 1))
    assert [len(ids) for *_, ids in rounds] == [10, 9, 9]


def test_a_resumed_run_begins_new_rounds() -> None:
    planned = turns(SMALL, 1)
    done = [result(turn, turn.round) for turn in planned[:14]]
    left = turns(SMALL, 1, done)
    assert [turn.cell.id for turn in left] == [turn.cell.id for turn in planned[14:]]
    assert [turn.seed for turn in left] == [turn.seed for turn in planned[14:]]
    assert [(number, len(ids)) for _, number, ids in stretches(left)] == [(2, 6), (3, 10)]


def test_trials_of_an_older_run_without_rounds_are_no_round() -> None:
    planned = turns(SMALL, 1)
    left = turns(SMALL, 1, [result(turn, None) for turn in planned[:10]])
    assert [(number, len(ids)) for _, number, ids in stretches(left)] == [(0, 10), (1, 10)]


def test_cells_that_differ_in_a_condition_are_in_different_tables() -> None:
    changes = [{}, {"rate_hz": 10.0}, {"payload_bytes": 29}, {"fifo": 1}, {"no_idle_states": True}]
    assert len(tables(cell(**each) for each in changes)) == len(changes)


def test_transport_language_and_settings_do_not_make_a_table() -> None:
    changes = [{}, {"transport": "other"}, {"language": "python"}, {"settings": {"hwm": 1}}, {"ranked": False}]
    assert len(tables(cell(**each) for each in changes)) == 1


def test_an_encoded_object_may_differ_by_a_few_bytes() -> None:
    sizes = [cell(codec="numpy", payload_bytes=each) for each in (99, 101)]
    assert len(tables(sizes)) == 1
    assert len(tables([sizes[0], cell(codec="torch", payload_bytes=99)])) == 2


def test_only_the_two_sides_of_a_cell_in_one_round_stay_together() -> None:
    old, new = cell(id="old", counterpart="new", side="old"), cell(id="new", counterpart="old", side="new")
    lone = cell(id="lone")
    order = [Turn(lone, 0, 0, 1), Turn(new, 0, 1, 1), Turn(old, 0, 2, 1), Turn(old, 1, 3, 1, 1), Turn(new, 2, 4, 1, 2)]
    together = [[turn.cell.id for turn in each] for each in with_counterparts(order)]
    assert together == [["lone"], ["new", "old"], ["old"], ["new"]]
