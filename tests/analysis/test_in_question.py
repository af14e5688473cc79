"""A run with a budget measures a flow alone only over transports that may still be the best for the workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hopmeter.analysis.budget.budgeted_rounds import BudgetedRounds
from hopmeter.analysis.budget.candidates import InQuestion
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.make import Plan
from hopmeter.plan.workloads.alone import add_cells_alone
from hopmeter.scenario import Scenario

from ..cells import cell
from .test_times_alone import WORKLOAD

TRIAL_S = 0.5
MESSAGES = 100


def run(
    misses: Mapping[str, int],
    fails: frozenset[str] = frozenset(),
    cpu: Mapping[str, float] | None = None,
    **changes: object,
) -> Counter[str]:
    """Simulate the rounds of a run with a budget of 60 s, and return the number of trials of each cell. `misses` maps
    transports to the number of late messages out of 100; `cpu` maps transports to CPU usage."""
    cells = add_cells_alone(
        [cell(id=name, transport=name, workload=WORKLOAD, limit_s=3.3, **changes) for name in misses]
    )
    scenario = Scenario.model_validate({"title": "t", "question": "q?", "budget": "60s"})
    made = Plan("made", scenario, cells, 7)

    def measure(one: Cell, result: TrialResult) -> list[dict[str, Any]]:
        counts = {"deadlines": MESSAGES, "missed": misses[one.id], "cpu_core_percent": (cpu or {}).get(one.id)}
        return [{"cell": one.id, "trial": result.trial, "round": result.round, "good": True, **counts}]

    now = 0.0
    trials: Counter[str] = Counter()
    question = InQuestion(cells, measure)
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
    assert found["bad-alone-urgent"] == 3, "a comparison needs three rounds"
    assert found["good"] == found["bad"] == found["good-alone-urgent"] > 30


def test_the_whole_ranking_decides_what_is_in_question() -> None:
    found = run({"frugal": 1, "hungry": 1}, cpu={"frugal": 10.0, "hungry": 30.0})
    assert found["hungry-alone-urgent"] == 3 < found["frugal-alone-urgent"]


def test_transports_that_may_be_the_best_are_both_measured_alone() -> None:
    found = run({"good": 3, "similar": 4})
    assert found["good-alone-urgent"] == found["similar-alone-urgent"] == found["good"] == 30


def test_a_workload_that_only_fails_has_no_trials_alone() -> None:
    found = run({"good": 1, "broken": 0}, fails=frozenset({"broken", "broken-alone-urgent"}))
    assert found["broken-alone-urgent"] <= 2 and found["good-alone-urgent"] == found["good"]


def test_the_only_transport_is_in_question_whatever_it_misses() -> None:
    found = run({"bad": 90}, ranked=False)
    assert found["bad-alone-urgent"] == found["bad"] == 60
