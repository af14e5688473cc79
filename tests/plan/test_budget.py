"""Tests for the minimum budget, and for the cells that a budget can decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.plan import Plan, budget

from .capabilities import capabilities, make_plan, transport


def plan(may_keep_awake: bool = False, **given: Any) -> Plan:
    return make_plan(replace(capabilities(transport("bus")), may_keep_awake=may_keep_awake), cores="free", **given)


def test_a_budget_that_is_too_short_names_the_least_one() -> None:
    needed_s = budget.least_s(plan(budget="1s"))
    with pytest.raises(UsageError, match="E-BUDGET-SHORT") as refused:
        budget.check(plan(budget="1s"))
    least = refused.value.remedy.split()[1].rstrip(",")
    assert 0 <= float(least.rstrip("s")) - needed_s < 1
    budget.check(plan(budget=least))


BOTH = {"transport": ["zeta", "tram", "omega"], "language": ["rust", "python"], "messages": 1000}


def short(**given: Any) -> tuple[Plan, str]:
    where = capabilities(*(transport(name) for name in ("zeta", "tram", "omega")))
    made = make_plan(where, wait="block", cores="free", **{**BOTH, **given})
    with pytest.raises(UsageError) as refused:
        budget.check(made)
    return made, refused.value.remedy


@pytest.mark.parametrize(
    ("given", "share", "option"),
    [
        ({}, 0.9, "--transport zeta,tram"),
        ({}, 0.5, "--transport zeta"),
        ({"transport": "tram"}, 0.7, "--language rust"),
        ({"transport": "tram", "language": "rust", "rate": [10, 1000]}, 0.3, "--rate 1000"),
        ({"transport": "tram", "language": "rust"}, 0.1, ""),
        ({}, 0.01, ""),
    ],
)
def test_the_advice_names_the_user_s_own_values_and_what_it_names_fits(
    given: dict[str, Any], share: float, option: str
) -> None:
    needed_s = budget.least_s(short(budget="1ms", **given)[0])
    limit = f"{share * needed_s:.3f}s"
    _, remedy = short(budget=limit, **given)
    assert (f"fewer cells such as {option}," in remedy) == bool(option) and "nng" not in remedy, remedy
    assert ("fewer cells" in remedy) == bool(option)
    if option:
        name, _, values = option.removeprefix("--").partition(" ")
        chosen = [float(each) if name == "rate" else each for each in values.split(",")]
        where = capabilities(*(transport(name) for name in ("zeta", "tram", "omega")))
        made = make_plan(where, wait="block", cores="free", **{**BOTH, **given, name: chosen, "budget": limit})
        budget.check(made)


def test_a_precision_needs_more_rounds() -> None:
    order, precise = plan(budget="1s"), plan(budget="1s", until="±5%")
    assert budget.least_s(precise) == pytest.approx(budget.least_s(order) * 8 / 5)


def test_a_fixed_number_of_trials_needs_no_budget() -> None:
    budget.check(plan(trials=1000))


def test_both_idle_states_are_measured_where_that_is_allowed() -> None:
    both, one = (plan(allowed, no_idle_states="both", budget="60s") for allowed in (True, False))
    assert sorted(cell.nodes.no_idle_states for cell in both.runnable) == [False] * 2 + [True] * 2
    assert [cell.nodes.no_idle_states for cell in one.runnable] == [False] * 2
    assert budget.notes(both) == [] and "W-AS-IT-IS" in budget.notes(one)[0]
    assert [budget.shows_level(cell, both) for cell in both.runnable] == [
        not cell.nodes.no_idle_states for cell in both.runnable
    ]
    assert not any(budget.shows_level(cell, one) for cell in one.runnable)
    assert not any(cell.nodes.no_idle_states for cell in plan(True, no_idle_states="both", trials=3).runnable)
    assert all(by_id(both, cell.comparison.floor)["no_idle_states"] == cell["no_idle_states"] for cell in both.runnable)


def by_id(made: Plan, name: str | None) -> Any:
    return next(cell for cell in made.cells if cell.id == name)
