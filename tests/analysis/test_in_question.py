"""A run with a budget measures flows alone only over transports that may keep the deadlines best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hopmeter.analysis.budget import BudgetedRounds
from hopmeter.analysis.deadlines import Misses
from hopmeter.analysis.in_question import InQuestion
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.alone import add_cells_alone
from hopmeter.plan.make import Plan
from hopmeter.scenario import Scenario

from ..cells import cell
from .test_times_alone import WORKLOAD

TRIAL_S = 0.5
MESSAGES = 100


def run(misses: Mapping[str, int], fails: frozenset[str] = frozenset(), **changes: object) -> Counter[str]:
    """Execute the rounds of 60 s in simulated time, and count the trials of each cell. `misses` has how many of 100
    messages of a trial are late, by transport."""
    cells = add_cells_alone(
        [cell(id=name, transport=name, workload=WORKLOAD, limit_s=3.3, **changes) for name in misses]
    )
    scenario = Scenario.model_validate({"title": "t", "question": "q?", "budget": "60s"})
    made = Plan("made", scenario, cells, 7)

    def count(one: Cell, _: TrialResult) -> dict[str, Misses]:
        return {"urgent": Misses(MESSAGES, misses[one.id], 1), "path": Misses(MESSAGES, 0, 0)}

    now = 0.0
    trials: Counter[str] = Counter()
    question = InQuestion(cells, count)
    rounds = BudgetedRounds(made, [], lambda *_: None, clock=lambda: now, in_question=question)
    while turns := rounds.next_round():
        for turn in turns:
            now += TRIAL_S
            trials[turn.cell.id] += 1
            good = turn.cell.id not in fails
            rounds.note(TrialResult(turn.cell.id, turn.trial, good, wall_s=TRIAL_S, round=turn.round))
    return trials


def test_a_transport_that_is_proved_to_miss_more_gets_no_more_trials_alone() -> None:
    found = run({"good": 1, "bad": 60})
    assert found["bad-alone-urgent"] == 3, "the interval of a share needs three trials"
    assert found["good"] == found["bad"] == found["good-alone-urgent"] > 30


def test_transports_that_may_be_the_best_are_both_measured_alone() -> None:
    found = run({"good": 3, "similar": 4})
    assert found["good-alone-urgent"] == found["similar-alone-urgent"] == found["good"] == 30


def test_a_workload_that_only_fails_has_no_trials_alone() -> None:
    found = run({"good": 1, "broken": 0}, fails=frozenset({"broken", "broken-alone-urgent"}))
    assert found["broken-alone-urgent"] <= 2 and found["good-alone-urgent"] == found["good"]


def test_the_only_transport_is_in_question_whatever_it_misses() -> None:
    found = run({"bad": 90}, ranked=False)
    assert found["bad-alone-urgent"] == found["bad"] == 60
