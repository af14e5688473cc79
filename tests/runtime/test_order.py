"""Tests for the order of trials: each round belongs to one table, and no other trial interrupts the round."""

from __future__ import annotations

from itertools import groupby

from hopmeter.model.trial import TrialResult
from hopmeter.runtime.order import PlannedTrial, planned_trials, tables, with_counterparts

from ..cells import cell

SMALL = [cell(id=f"s{number}", transport=f"t{number}", trials=3) for number in range(10)]
LARGE = [
    cell(id=f"l{number}", transport=f"t{number}", payload="bytes:99", payload_bytes=99, trials=3) for number in range(5)
]
CELLS = [each for pair in zip(SMALL, LARGE * 2, strict=True) for each in pair if each in SMALL or pair[0] in SMALL[:5]]


def stretches(order: list[PlannedTrial]) -> list[tuple[str, int, list[str]]]:
    """Return the rounds in chronological order."""
    grouped = groupby(order, key=lambda planned: (planned.cell.group, planned.round))
    return [(group, number, [planned.cell.id for planned in of_round]) for (group, number), of_round in grouped]


def result(of: PlannedTrial, number: int | None) -> TrialResult:
    return TrialResult(of.cell.id, of.trial, good=True, order=of.order, round=number)


def test_a_round_is_one_trial_of_every_cell_of_one_table_and_the_tables_alternate() -> None:
    small, large = SMALL[0].group, LARGE[0].group
    rounds = stretches(planned_trials(CELLS, 1))
    assert [(group, number) for group, number, _ in rounds] == [
        (group, number) for number in range(3) for group in (small, large)
    ]
    for group, _, ids in rounds:
        assert sorted(ids) == [each.id for each in (SMALL if group == small else LARGE)]
    assert rounds[0][2] != rounds[2][2] != sorted(rounds[2][2])


def test_the_seed_alone_sets_the_order() -> None:
    once = planned_trials(CELLS, 1)
    assert once == planned_trials(CELLS, 1)
    assert [planned.cell.id for planned in once] != [planned.cell.id for planned in planned_trials(CELLS, 2)]
    assert [planned.order for planned in once] == list(range(45))


def test_a_cell_with_fewer_trials_leaves_the_later_rounds() -> None:
    few = SMALL[0].with_values(trials=1)
    rounds = stretches(planned_trials([few, *SMALL[1:]], 1))
    assert [len(ids) for *_, ids in rounds] == [10, 9, 9]


def test_a_resumed_run_begins_new_rounds() -> None:
    order = planned_trials(SMALL, 1)
    done = [result(planned, planned.round) for planned in order[:14]]
    left = planned_trials(SMALL, 1, done)
    assert [planned.cell.id for planned in left] == [planned.cell.id for planned in order[14:]]
    assert [planned.seed for planned in left] == [planned.seed for planned in order[14:]]
    assert [(number, len(ids)) for _, number, ids in stretches(left)] == [(2, 6), (3, 10)]


def test_trials_of_an_older_run_without_rounds_are_no_round() -> None:
    order = planned_trials(SMALL, 1)
    left = planned_trials(SMALL, 1, [result(planned, None) for planned in order[:10]])
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
    order = [
        PlannedTrial(lone, 0, 0, 1),
        PlannedTrial(new, 0, 1, 1),
        PlannedTrial(old, 0, 2, 1),
        PlannedTrial(old, 1, 3, 1, 1),
        PlannedTrial(new, 2, 4, 1, 2),
    ]
    together = [[planned.cell.id for planned in each] for each in with_counterparts(order)]
    assert together == [["lone"], ["new", "old"], ["old"], ["new"]]
