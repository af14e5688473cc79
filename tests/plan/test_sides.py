"""Tests for both sides of a run with `--against`."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.messages import split_code
from hopmeter.plan import Plan
from hopmeter.plan.sides import add_old_sides, settings_side
from hopmeter.runtime.order import planned_trials
from tests.coded import refuses

from .capabilities import capabilities, make_plan, transport

SETTINGS = {"hwm": {"default": 10, "min": 0, "help": "H."}, "fast": {"default": False, "help": "F."}}


def both(name: str, *, more: tuple[str, ...] = (), **given: Any) -> Plan:
    where = capabilities(transport("bus", settings=SETTINGS), *(transport(each) for each in more))
    made = make_plan(where, **{"transport": ["bus", *more], "payload": "bytes:100", **given})
    return add_old_sides(made, settings_side(name, where, ["bus", *more]))


def test_each_cell_has_an_old_side_that_differs_in_the_setting_alone() -> None:
    old, new, floor = both("set:hwm=1000").runnable
    assert (old.comparison.side, new.comparison.side, floor.comparison.side) == ("old", "new", "")
    assert (old.comparison.counterpart, new.comparison.counterpart) == (new.id, old.id)
    assert old.carriage.settings == {"hwm": 1000, "fast": False}
    assert (old.carriage.profile, new.carriage.profile) == ("hwm=1000", "")
    assert (old.axes, old.schedule, old.group) == (new.axes, new.schedule, new.group)


def test_a_setting_that_the_run_varies_has_the_same_old_side_for_each_value() -> None:
    made = both("set:hwm=1000,fast=true", settings={"bus": {"hwm": [1, 2]}})
    profiles = [(cell.comparison.side, cell.carriage.profile) for cell in made.runnable if cell.comparison.side]
    both_set = ("old", "fast=true hwm=1000")
    assert profiles == [both_set, ("new", "hwm=1"), both_set, ("new", "hwm=2")]


def test_a_cell_that_would_be_the_same_on_both_sides_is_dropped_with_the_reason() -> None:
    made = both("set:hwm=1000", more=("train",))
    dropped = [cell for cell in made.cells if cell.dropped]
    assert [(cell.axes.transport, split_code(cell.dropped)[1]) for cell in dropped] == [("train", "D-SAME-SIDES")]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("set:hwm=10", "E-AGAINST set:hwm=10"),
        ("set:hwn=1", 'E-AGAINST "hwn" "hwm"?'),
        ("set:hwm", "E-AGAINST"),
        ("set:hwm=-1", "E-SETTING-VALUE -1"),
        ("set:train.hwm=1", "E-AGAINST train"),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(name: str, says: str) -> None:
    with refuses(UsageError, says):
        both(name)


def test_a_search_has_no_sides() -> None:
    with pytest.raises(UsageError) as refused:
        both("set:hwm=1", search={"bound_p99": "1ms"})
    assert refused.value.code == "E-OPTION-CONFLICT"


def test_a_round_has_both_sides_next_to_each_other_in_random_order() -> None:
    made = both("set:hwm=1000", trials=40, payload=["bytes:100"], settings={"bus": {"hwm": [1, 2, 3]}})
    order = planned_trials(made.runnable, 3)
    first: list[str] = []
    for number in range(40):
        cells = [planned.cell for planned in order if planned.round == number and planned.cell.comparison.side]
        pairs = list(zip(cells[::2], cells[1::2], strict=True))
        assert len(cells) == 6
        assert all(one.comparison.counterpart == other.id for one, other in pairs)
        first += [one.comparison.side for one, _ in pairs]
    assert 40 < first.count("old") < 80, "which side comes first is drawn"
