"""Tests for the rounds of a run with a budget, with known medians and simulated time."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from hopmeter.analysis.cells.rate_search import Hunt
from hopmeter.analysis.cells.repeated_trials import set_aside_repeated
from hopmeter.model.trial import TrialResult
from hopmeter.scenario import Scenario
from hopmeter.store.run_folder import RunFolder

from ..cells import cell
from .simulated_budget import TRIAL_S, Run, cells_of, larger, plan


def test_a_clear_order_ends_the_run_before_its_budget() -> None:
    run = Run(plan(cells_of(10, 20, 40, 80, 160)))
    assert run.counts() == dict.fromkeys(("c0", "c1", "c2", "c3", "c4"), 5)
    assert run.budget.left_s > 40
    assert run.budget.status.startswith("0 of 10 pairs open")


def test_the_medians_so_far_are_those_of_the_compared_cells() -> None:
    run = Run(plan(cells_of(10, 20)), noise=0.0)
    run.counts()
    assert [(cell.id, pytest.approx(value)) for cell, value in run.budget.medians] == [("c0", 10), ("c1", 20)]


def test_settled_cells_stop_and_both_ends_of_an_open_pair_continue_with_the_best() -> None:
    run = Run(plan(cells_of(10, 20, 40, 80, 160, 160.1)))
    counts = run.counts()
    assert counts["c1"] == counts["c2"] == counts["c3"] == 5
    assert counts["c4"] == counts["c5"] == counts["c0"] > 20
    assert run.budget.status.startswith("1 of 15 pairs open")
    assert run.budget.left_s < 2 * TRIAL_S * 3


def test_a_floor_is_in_every_second_round_until_the_end() -> None:
    floor = cell(id="f", transport="t5", ranked=False, floor="f")
    candidates = [each.with_values(floor="f") for each in cells_of(20, 40, 40.1, 80, 160)]
    run = Run(plan([*candidates, floor]))
    counts = run.counts()
    assert counts["c1"] == counts["c2"] > 20 > counts["c4"]
    assert [trial.round for trial in trials_of(run, "f")] == list(range(0, counts["c1"], 2))


def trials_of(run: Run, cell: str) -> list[TrialResult]:
    return [trial for trial in run.trials if trial.cell == cell]


def test_a_trial_disturbed_beyond_use_is_measured_again_in_its_round() -> None:
    run = Run(plan(cells_of(10, 20)), steal={("c0", 1): 0.5, ("c0", 2): 0.5})
    run.counts()
    again = trials_of(run, "c0")[:6]
    assert [each.round for each in again] == [0, 1, 1, 2, 3, 4], "the second attempt counts, although disturbed too"
    assert [each.good for each in set_aside_repeated(again)] == [True, False, True, True, True, True]
    assert len(trials_of(run, "c0")) == len(trials_of(run, "c1")) + 1


def test_trials_that_lose_as_much_as_all_others_are_not_measured_again() -> None:
    run = Run(plan(cells_of(10, 20)), steal={(cell, trial): 0.5 for cell in ("c0", "c1") for trial in range(20)})
    assert run.counts()["c0"] == run.counts()["c1"] == len({each.round for each in trials_of(run, "c0")})


def test_a_trial_is_measured_again_only_while_the_budget_lasts() -> None:
    run = Run(plan(cells_of(10, 10.001), budget="6s"), steal={("c0", trial): 0.5 for trial in range(3, 20)})
    assert run.counts()["c0"] > run.counts()["c1"] and run.budget.left_s >= 0


def test_both_sides_of_a_cell_are_measured_again() -> None:
    old, new = (
        cell(id=side, transport=f"t{us}", side=side, counterpart=other)
        for side, us, other in (("old", 10, "new"), ("new", 20, "old"))
    )
    run = Run(plan([old, new]), steal={("old", 1): 0.5})
    run.counts()
    assert [each.round for each in trials_of(run, "old")][:4] == [0, 1, 1, 2]
    assert [each.round for each in trials_of(run, "new")][:4] == [0, 1, 1, 2]


def test_only_the_best_is_decided_if_that_is_the_question() -> None:
    order, best = (Run(plan(cells_of(10, 20, 40, 40.1, 80), until=until)) for until in ("order", "best"))
    assert best.counts() == dict.fromkeys(("c0", "c1", "c2", "c3", "c4"), 5)
    assert order.counts()["c3"] > 20


def test_a_precision_takes_at_least_eight_rounds() -> None:
    precise = Run(plan(cells_of(10, 20), until="±10%"))
    assert precise.counts() == {"c0": 8, "c1": 8}
    assert precise.budget.status.startswith("0 of 2 medians open")
    assert min(Run(plan(cells_of(10, 20), until="±2%")).counts().values()) > 8


def test_tables_alternate_and_a_round_is_of_one_table() -> None:
    large = [each.with_values(id=f"l{each.id}", payload="bytes:9", payload_bytes=9) for each in cells_of(10, 10.1)]
    rounds = list(Run(plan([*cells_of(10, 10.1), *large], "20s")).rounds())
    groups = [{turn.cell.group for turn in turns} for turns in rounds]
    assert all(len(each) == 1 for each in groups)
    assert all(len(list(same)) == 1 for _, same in groupby(groups))


def rounds_of_tables(run: Run) -> dict[str, int]:
    list(run.rounds())
    return {table.cells[0].axes.payload: table.rounds for table in run.budget._tables}


def test_a_table_waits_when_it_has_the_rounds_that_its_noise_needs_until_the_others_have_theirs() -> None:
    cells = cells_of(10, 10.1, 10.2, 10.3, 10.4)
    run = Run(plan([*cells, *larger(cells)], "100s"))
    run.noise_of = lambda cell: 0.3 if cell.axes.payload == "bytes:9" else 0.02
    rounds = rounds_of_tables(run)
    assert 8 <= rounds["timing"] < rounds["bytes:9"] / 2
    long = Run(plan([*cells, *larger(cells)], "200s"))
    long.noise_of = run.noise_of
    assert rounds["timing"] < rounds_of_tables(long)["timing"]
    assert rounds_of_tables(Run(plan([*cells, *larger(cells)], "100s"))) == {"timing": 20, "bytes:9": 20}


def test_a_difference_that_only_seems_large_gets_no_further_rounds() -> None:
    """Tables with the same noise get equally many rounds, although a few more rounds would decide one of the pairs."""
    cells, other = cells_of(10, 10.01, 10.02, 10.03, 10.04), cells_of(10, 10.9, 10.01, 10.02, 10.03)
    rounds = rounds_of_tables(Run(plan([*cells, *larger(other)], "100s"), noise=0.1))
    assert abs(rounds["timing"] - rounds["bytes:9"]) <= 2


def test_cells_that_show_the_level_have_three_rounds_in_between() -> None:
    asleep = cells_of(30, 30.1)
    awake = [each.with_values(id=f"a{each.id}", no_idle_states=True) for each in cells_of(10, 10.1)]
    rounds = list(Run(plan([*awake, *asleep], no_idle_states="both")).rounds())
    places = [place for place, turns in enumerate(rounds) if not turns[0].cell.nodes.no_idle_states]
    assert len(places) == 3
    assert places[0] > 0 and places[1] - places[0] > 1 and places[2] - places[1] > 1


def test_the_budget_is_kept() -> None:
    run = Run(plan(cells_of(10, 10.1, 10.2), "10s"))
    run.counts()
    assert run.now <= 10


def test_a_cell_that_always_fails_is_not_tried_for_ever() -> None:
    run = Run(plan(cells_of(10, 10.1, 40)), fails=frozenset({"c2"}))
    counts = run.counts()
    assert counts["c2"] == 2
    assert counts["c0"] > 20


def test_all_looks_together_spend_the_level_once() -> None:
    run = Run(plan(cells_of(10, 10.01, 10.02)))
    run.counts()
    (looks,) = run.looks.values()
    assert len(looks) > 2
    assert 0.045 < sum(each["alpha"] for each in looks) <= 0.05 + 1e-9
    assert looks[-1]["rounds"] == run.trials[-1].round + 1  # type: ignore[operator]


def test_a_resumed_run_continues_with_new_rounds_what_is_left_of_the_budget() -> None:
    run = Run(plan(cells_of(10, 20, 40, 80, 160, 160.1)))
    list(run.rounds(most=10))
    before, seen = run.now, len(run.trials)
    stopped = {cell for trial in run.trials for cell in [trial.cell]} - {
        turn for each in run.looks.values() for turn in each[-1]["cells"]
    }
    run.now = 1000.0
    list(run.rounds())
    further = run.trials[seen:]
    assert stopped and not stopped & {trial.cell for trial in further}
    assert before + run.now - 1000 <= 60
    assert min(trial.round or 0 for trial in further) == 1 + max(trial.round or 0 for trial in run.trials[:seen])
    assert len({(trial.cell, trial.trial) for trial in run.trials}) == len(run.trials)


def test_a_search_ends_when_its_next_step_would_take_longer_than_is_left(tmp_path: Path) -> None:
    first = cell(id="s1", search="s1", rate_hz=1000.0)
    folder = RunFolder.create(tmp_path, "run", {"cells": [first.as_json()], "scenario": {}})
    table = {"title": "t", "question": "q?", "search": {"bound_p99": "5ms"}}
    for budget, goes_on in (("19s", False), ("21s", True)):
        now = iter([0.0, 10.0])
        scenario = Scenario.model_validate(table | {"budget": budget})
        assert scenario.search is not None
        hunt = Hunt(scenario, scenario.search, folder, lambda times=now: next(times))
        hunt._rows["s1"] = {
            "status": "ok",
            "trials_good": 3,
            "trials": 3,
            "lost": 0,
            "received": 9,
            "response_p99_us": 10.0,
        }
        assert bool(hunt.next_cells()) is goes_on


def test_a_table_of_one_cell_takes_no_time_from_the_others() -> None:
    alone = cell(id="a", transport="t10", payload="bytes:9", payload_bytes=9)
    counts = Run(plan([*cells_of(10, 10.01, 10.02), alone], "20s")).counts()
    assert counts["a"] == 5 < counts["c0"]


@pytest.mark.parametrize("until", ["order", "best"])
def test_one_cell_alone_has_nothing_to_decide(until: str) -> None:
    assert Run(plan(cells_of(10), until=until)).counts() == {"c0": 5}


def test_the_two_sides_of_a_cell_are_compared_with_each_other_only() -> None:
    sides = [
        each.with_values(id=f"{each.id}{side}", side=side, counterpart=f"{each.id}{other}")
        for each in cells_of(10, 10.01)
        for side, other in (("old", "new"), ("new", "old"))
    ]
    run = Run(plan(sides), lambda cell: 10.0 if cell.comparison.side == "old" else 20.0, noise=0.01)
    assert run.counts() == {each.id: 5 for each in sides}


def test_rows_stop_when_they_meet_or_miss_the_requirements() -> None:
    wanted = {"until": "require", "require": ["p50 < 20us"]}
    run = Run(plan(cells_of(10, 19.99, 40), **wanted))
    counts = run.counts()
    assert max(counts["c0"], counts["c2"]) < 20 < counts["c1"]
    assert run.budget.status.startswith("1 of 3 rows open")
    (looks,) = run.looks.values()
    assert looks[-1]["open"] == [["c1"]] and sum(each["alpha"] for each in looks) <= 0.05 + 1e-9


def test_one_row_alone_has_requirements_to_decide() -> None:
    wanted = {"until": "require", "require": ["p50 < 20us"]}
    assert Run(plan(cells_of(19.99), **wanted)).counts()["c0"] > 20
    assert Run(plan(cells_of(10), **wanted)).counts()["c0"] < 20


def test_references_prolong_no_run_but_stay_while_their_ratio_to_the_best_is_open() -> None:
    cells = cells_of(10, 10.1, 40, 41, 9.9, 80)
    made = [*cells[:1], *(each.with_values(installable=False) for each in cells[1:2] + cells[4:]), *cells[2:4]]
    counts = Run(plan(made)).counts()
    assert counts["c0"] == counts["c2"] > 20
    assert counts["c1"] == counts["c4"] == (counts["c0"] + 1) // 2 > 3 == counts["c5"]
    decided = [each.with_values(transport=f"t{us}") for each, us in zip(cells[:3], (10, 10.1, 40), strict=True)]
    run = Run(plan([decided[0], decided[1].with_values(installable=False), decided[2]]))
    assert max(run.counts().values()) < 20
    assert run.budget.status.startswith("0 of 1 pairs open")


def test_one_library_is_compared_with_the_references_that_were_named() -> None:
    library, named, floor = cells_of(10, 10.1, 3)
    floor = floor.with_values(ranked=False, installable=False)
    run = Run(plan([each.with_values(floor="c2") for each in (library, named.with_values(installable=False), floor)]))
    assert min(run.counts().values()) > 20
    assert run.budget.status.startswith("1 of 1 pairs open")
